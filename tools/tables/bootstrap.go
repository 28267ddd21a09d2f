package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"

	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

const rbac = "rbac.authorization.k8s.io/v1"

// bootstrapRoles writes the roles and bindings that a new cluster begins with.
func bootstrapRoles() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"made by\": %s,\n", compact(madeBy("the bootstrap policy of", "k8s.io/kubernetes")))
	clusterRoles := slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles())
	writeObjects(&out, "clusterRoles", "ClusterRole", clusterRoles)
	out.WriteString(",\n")
	clusterBindings := slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings())
	writeObjects(&out, "clusterRoleBindings", "ClusterRoleBinding", clusterBindings)
	out.WriteString(",\n")
	writeObjects(&out, "roles", "Role", namespaced(bootstrappolicy.NamespaceRoles()))
	out.WriteString(",\n")
	writeObjects(&out, "roleBindings", "RoleBinding", namespaced(bootstrappolicy.NamespaceRoleBindings()))
	out.WriteString("\n}\n")
	return out.Bytes()
}

// namespaced returns what is in all namespaces, in the order of their names.
func namespaced[V any](byNamespace map[string][]V) []V {
	var all []V
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		all = append(all, byNamespace[namespace]...)
	}
	return all
}

// writeObjects writes one object in each line, in the order in which upstream makes them.
func writeObjects[V any](out *bytes.Buffer, title, kind string, objects []V) {
	fmt.Fprintf(out, "%s: [", compact(title))
	separator := "\n"
	for _, object := range objects {
		var content map[string]any
		if err := json.Unmarshal(compact(object), &content); err != nil {
			log.Fatal(err)
		}
		content["apiVersion"], content["kind"] = rbac, kind
		delete(content["metadata"].(map[string]any), "creationTimestamp")
		fmt.Fprintf(out, "%s  %s", separator, compact(content))
		separator = ",\n"
	}
	out.WriteString("\n]")
}
