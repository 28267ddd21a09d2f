package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// served lists the kinds that localkube knows, by group and version. Their lists come along.
var served = map[string]string{
	"v1": "Namespace Pod Node ConfigMap Secret ServiceAccount Event Service PersistentVolumeClaim " +
		"PersistentVolume ResourceQuota LimitRange ReplicationController Binding",
	"events.k8s.io/v1":             "Event",
	"batch/v1":                     "Job CronJob",
	"coordination.k8s.io/v1":       "Lease",
	"scheduling.k8s.io/v1":         "PriorityClass",
	"rbac.authorization.k8s.io/v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
	"authentication.k8s.io/v1":     "TokenReview TokenRequest SelfSubjectReview",
	"authorization.k8s.io/v1":      "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
	"apiextensions.k8s.io/v1":      "CustomResourceDefinition",
	"apps/v1":                      "DaemonSet ReplicaSet StatefulSet",
	"policy/v1":                    "PodDisruptionBudget Eviction",
	"storage.k8s.io/v1":            "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment",
	"resource.k8s.io/v1":           "ResourceClaim ResourceSlice DeviceClass",
	"autoscaling/v1":               "Scale",
}

// groupless lists what belongs to no group: options that come as bodies, and answers.
var groupless = map[string]any{
	"CreateOptions":   metav1.CreateOptions{},
	"UpdateOptions":   metav1.UpdateOptions{},
	"PatchOptions":    metav1.PatchOptions{},
	"DeleteOptions":   metav1.DeleteOptions{},
	"Status":          metav1.Status{},
	"WatchEvent":      metav1.WatchEvent{},
	"APIResourceList": metav1.APIResourceList{},
	"Patch":           metav1.Patch{},
}

// structure is a struct: its fields in their order, and what marks it as a whole.
type structure struct {
	Fields [][]any `json:"fields"`
	marks
	// Custom says that JSON is not read and written field by field.
	Custom bool            `json:"custom,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// builder collects the types that the served kinds are made of.
type builder struct {
	kinds, packages, named map[string]string
	wrapped                []string
	structs                map[string]*structure
}

// types writes the fields of all types within the served kinds.
func types() []byte {
	b := builder{map[string]string{}, map[string]string{}, map[string]string{}, nil, map[string]*structure{}}
	known := runtime.NewScheme()
	must(scheme.AddToScheme(known))
	must(apiextensions.AddToScheme(known))
	for apiVersion, names := range served {
		for _, name := range strings.Fields(names) {
			b.kind(known, apiVersion, name, true)
			b.kind(known, apiVersion, name+"List", false)
		}
	}
	for name, value := range groupless {
		b.kinds["meta/"+name] = b.reference(reflect.TypeOf(value))
	}
	slices.Sort(b.wrapped)

	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"made by\": %s,\n", compact(madeBy("the Go types and OpenAPI definitions of", "k8s.io/kubernetes")))
	writeSection(&out, "packages", b.packages)
	out.WriteString(",\n")
	writeSection(&out, "kinds", b.kinds)
	out.WriteString(",\n")
	writeSection(&out, "named", b.named)
	fmt.Fprintf(&out, ",\n\"wrapped\": %s,\n", compact(b.wrapped))
	writeSection(&out, "structs", b.structs)
	out.WriteString("\n}\n")
	return out.Bytes()
}

// kind adds a kind; a list may be missing, for not every kind has one.
func (b *builder) kind(known *runtime.Scheme, apiVersion, name string, needed bool) {
	shape, found := known.AllKnownTypes()[schema.FromAPIVersionAndKind(apiVersion, name)]
	if found {
		b.kinds[apiVersion+"/"+name] = b.reference(shape)
	} else if needed {
		log.Fatal(apiVersion, " has no ", name)
	}
}

// reference names a type as Go would, and adds it if it is new.
func (b *builder) reference(shape reflect.Type) string {
	if shape.Name() == "" || shape.PkgPath() == "" {
		return b.unnamed(shape)
	}
	name := typeName(shape)
	part := strings.TrimSuffix(name, "."+shape.Name())
	if path := b.packages[part]; path != "" && path != shape.PkgPath() {
		log.Fatal("two packages are called ", part)
	}
	b.packages[part] = shape.PkgPath()
	if shape.Kind() == reflect.Struct {
		b.structure(name, shape)
	} else if b.named[name] == "" {
		b.named[name] = b.unnamed(shape)
		if _, message := reflect.New(shape).Interface().(interface{ Unmarshal([]byte) error }); message {
			b.wrapped = append(b.wrapped, name)
		}
	}
	return name
}

func (b *builder) unnamed(shape reflect.Type) string {
	switch shape.Kind() {
	case reflect.Pointer:
		return "*" + b.reference(shape.Elem())
	case reflect.Slice:
		return "[]" + b.reference(shape.Elem())
	case reflect.Map:
		return "map[" + b.reference(shape.Key()) + "]" + b.reference(shape.Elem())
	default:
		return shape.Kind().String()
	}
}

func (b *builder) structure(name string, shape reflect.Type) {
	if b.structs[name] != nil {
		return
	}
	_, custom := reflect.New(shape).Interface().(json.Unmarshaler)
	made := &structure{Fields: [][]any{}, Custom: custom}
	b.structs[name] = made
	definition := definitionOf(shape)
	made.marks = marksOf(definition)
	if custom {
		made.Schema = bare(definition)
	}
	for i := range shape.NumField() {
		if custom && protobufNumber(shape.Field(i)) == 0 {
			continue
		}
		if field := b.field(shape.Field(i), definition); field != nil {
			made.Fields = append(made.Fields, field)
		}
	}
}

// field returns its name in JSON, its number in protobuf, its type, flags, and its marks if it has any.
func (b *builder) field(member reflect.StructField, owner definition) []any {
	name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
	number := protobufNumber(member)
	if !member.IsExported() || name == "-" && number == 0 {
		return nil
	}
	if member.Type.Kind() == reflect.Interface {
		return nil
	}
	flags := ""
	for _, option := range []string{"omitempty", "omitzero", "inline"} {
		if slices.Contains(strings.Split(options, ","), option) {
			flags += option[4:5]
		}
	}
	if member.Anonymous && name == "" {
		flags = "i"
	}
	name = cmp.Or(name, member.Name)
	property, described := owner.Properties[name]
	if slices.Contains(owner.Required, name) {
		flags += "r"
	}
	field := []any{name, number, b.reference(member.Type), flags}
	if described {
		if marks := fieldMarks(property, member.Type, strings.Contains(options, "omitempty")); marks != nil {
			field = append(field, marks)
		}
	}
	return field
}

func protobufNumber(member reflect.StructField) int {
	parts := strings.Split(member.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	number, err := strconv.Atoi(parts[1])
	must(err)
	return number
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
