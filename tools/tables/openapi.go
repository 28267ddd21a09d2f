package main

import (
	"bytes"
	"encoding/json"
	"log"
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

type definition = spec.Schema

var definitions = openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) })

// marks is what OpenAPI says of a type or field and the Go type does not.
type marks struct {
	// Default is there where it is not the zero value of a field that is always written.
	Default  any      `json:"default,omitempty"`
	Enum     []any    `json:"enum,omitempty"`
	ListType string   `json:"list,omitempty"`
	ListKeys []string `json:"keys,omitempty"`
	MapType  string   `json:"map,omitempty"`
	Strategy string   `json:"patch,omitempty"`
	MergeKey string   `json:"merge,omitempty"`
	Unions   any      `json:"unions,omitempty"`
}

// definitionOf returns what OpenAPI says of a type; of some, nothing.
func definitionOf(shape reflect.Type) definition {
	named, ok := reflect.Zero(shape).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return definition{}
	}
	found, ok := definitions[named.OpenAPIModelName()]
	if !ok {
		log.Fatal("OpenAPI does not define ", named.OpenAPIModelName())
	}
	return found.Schema
}

func marksOf(schema definition) marks {
	return marks{
		Enum:     schema.Enum,
		ListType: text(schema, "x-kubernetes-list-type"),
		ListKeys: texts(schema, "x-kubernetes-list-map-keys"),
		MapType:  text(schema, "x-kubernetes-map-type"),
		Strategy: text(schema, "x-kubernetes-patch-strategy"),
		MergeKey: text(schema, "x-kubernetes-patch-merge-key"),
		Unions:   schema.Extensions["x-kubernetes-unions"],
	}
}

// fieldMarks returns nil if there is nothing to say.
func fieldMarks(schema definition, shape reflect.Type, omitempty bool) *marks {
	found := marksOf(schema)
	if !bytes.Equal(compact(schema.Default), compact(usualDefault(shape, omitempty))) {
		found.Default = schema.Default
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found.Enum = schema.Items.Schema.Enum
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found.Enum = schema.AdditionalProperties.Schema.Enum
	}
	if reflect.DeepEqual(found, marks{}) {
		return nil
	}
	return &found
}

// usualDefault is what OpenAPI gives to a field that is not optional by its type.
func usualDefault(shape reflect.Type, omitempty bool) any {
	switch shape.Kind() {
	case reflect.Struct:
		if _, custom := reflect.New(shape).Interface().(json.Unmarshaler); custom {
			return nil
		}
		return map[string]any{}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return nil
	}
	if omitempty {
		return nil
	}
	return reflect.Zero(shape).Interface()
}

func text(schema definition, name string) string {
	found, _ := schema.Extensions.GetString(name)
	return found
}

func texts(schema definition, name string) []string {
	found, _ := schema.Extensions[name].([]any)
	var all []string
	for _, each := range found {
		all = append(all, each.(string))
	}
	return slices.Clip(all)
}

// bare is a definition without its description and without what only OpenAPI v2 needs.
func bare(schema definition) json.RawMessage {
	schema.Description = ""
	schema.Extensions = nil
	return compact(schema)
}
