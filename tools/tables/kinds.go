package main

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// kind is a built-in kind that can be stored, and the Go type that describes it.
type kind struct {
	apiVersion, name string
	shape            reflect.Type
}

// field is a field as it appears in JSON.
type field struct {
	name string
	tag  reflect.StructTag
	// shape is the type of its value; of what the value points to or lists, where it does.
	shape reflect.Type
}

// builtIn returns every kind that has metadata of its own: lists and options are left out.
func builtIn() []kind {
	var kinds []kind
	for gvk, shape := range scheme.Scheme.AllKnownTypes() {
		if _, stored := reflect.New(shape).Interface().(metav1.ObjectMetaAccessor); stored {
			kinds = append(kinds, kind{gvk.GroupVersion().String(), gvk.Kind, shape})
		}
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.name, b.name))
	})
	return kinds
}

// fields returns the JSON fields of a struct, those of inlined structs among them; of any other type, none.
func fields(shape reflect.Type) []field {
	if shape.Kind() != reflect.Struct {
		return nil
	}
	var found []field
	for i := range shape.NumField() {
		member := shape.Field(i)
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "-" || !member.IsExported():
		case name == "" && member.Anonymous:
			found = append(found, fields(member.Type)...)
		default:
			found = append(found, field{cmp.Or(name, member.Name), member.Tag, element(member.Type)})
		}
	}
	return found
}

func element(shape reflect.Type) reflect.Type {
	for shape.Kind() == reflect.Pointer || shape.Kind() == reflect.Slice {
		shape = shape.Elem()
	}
	return shape
}

// typeName is the name of a type with the last two parts of its package, as in "core/v1.PodSpec".
func typeName(shape reflect.Type) string {
	group, version := path.Split(shape.PkgPath())
	return path.Join(path.Base(group), version) + "." + shape.Name()
}
