package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// rule says how a strategic merge patch treats one field.
type rule struct {
	Strategy string `json:"strategy,omitempty"`
	Key      string `json:"key,omitempty"`
	Type     string `json:"type,omitempty"`
}

// mergeKeys writes the fields for which a strategic merge patch departs from its defaults (objects
// are merged, lists are replaced), and those that lead to such fields.
func mergeKeys() []byte {
	types := map[string]map[string]rule{}
	names := map[string]string{}
	for _, kind := range builtIn() {
		collect(kind.shape, types)
		names[kind.apiVersion+"/"+kind.name] = typeName(kind.shape)
	}
	prune(types)

	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"made by\": %s,\n", compact(madeBy("the Go types of", "k8s.io/api")))
	writeSection(&out, "kinds", names)
	out.WriteString(",\n")
	writeSection(&out, "types", types)
	out.WriteString("\n}\n")
	return out.Bytes()
}

// collect adds the rules of a type, and of the types within it, to those known.
func collect(shape reflect.Type, known map[string]map[string]rule) {
	name := typeName(shape)
	if _, seen := known[name]; seen {
		return
	}
	rules := map[string]rule{}
	known[name] = rules
	for _, field := range fields(shape) {
		found := rule{Strategy: strategy(field.tag.Get("patchStrategy")), Key: field.tag.Get("patchMergeKey")}
		if field.shape.Kind() == reflect.Struct {
			found.Type = typeName(field.shape)
			collect(field.shape, known)
		}
		rules[field.name] = found
	}
}

// strategy leaves out "retainKeys": it tells a client what to write into a patch, and nothing to who applies it.
func strategy(tag string) string {
	parts := slices.DeleteFunc(strings.Split(tag, ","), func(part string) bool { return part == "retainKeys" })
	return strings.Join(parts, ",")
}

// prune takes out what says nothing: types without rules, fields of such types, until none is left.
func prune(types map[string]map[string]rule) {
	for again := true; again; {
		again = false
		for name, rules := range types {
			maps.DeleteFunc(rules, func(_ string, rule rule) bool { return rule.Strategy == "" && types[rule.Type] == nil })
			if len(rules) == 0 {
				delete(types, name)
				again = true
			}
		}
	}
	for _, rules := range types {
		for name, rule := range rules {
			if types[rule.Type] == nil {
				rule.Type = ""
				rules[name] = rule
			}
		}
	}
}

// writeSection writes one line for each entry, so that a change reads well in a diff.
func writeSection[V any](out *bytes.Buffer, title string, entries map[string]V) {
	fmt.Fprintf(out, "%s: {", compact(title))
	separator := "\n"
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(out, "%s  %s: %s", separator, compact(name), compact(entries[name]))
		separator = ",\n"
	}
	out.WriteString("\n}")
}

func compact(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	return text
}
