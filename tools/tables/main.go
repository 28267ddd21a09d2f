// Command tables writes what Jobferry knows about the built-in kinds of Kubernetes, read off their
// Go types, as JSON files into the package whose folder it is given.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
)

// writers says which files there are, and what writes each of them.
var writers = map[string]func() []byte{
	"objects/merge_keys.json":                         mergeKeys,
	"localkube/apiserver/types/types.json":            types,
	"localkube/apiserver/access/bootstrap_roles.json": bootstrapRoles,
}

// madeBy says where a file comes from, with the version that go.mod pins.
func madeBy(what, path string) string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == path {
			return fmt.Sprintf("`make tables`, from %s %s %s", what, module.Path, module.Version)
		}
	}
	log.Fatal(path, " is not part of this program")
	return ""
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: tables FOLDER")
	}
	for name, write := range writers {
		path := filepath.Join(os.Args[1], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, write(), 0o644); err != nil {
			log.Fatal(err)
		}
		fmt.Println("wrote", path)
	}
}
