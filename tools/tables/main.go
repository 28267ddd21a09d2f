// Command tables writes what Jobferry knows about the built-in kinds of Kubernetes, read off their
// Go types, as JSON files into the folder that it is given.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
)

// writers says which files there are, and what writes each of them.
var writers = map[string]func([]kind) []byte{
	"merge_keys.json": mergeKeys,
}

// madeBy says where a file comes from, with the version that go.mod pins.
func madeBy() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "k8s.io/api" {
			return fmt.Sprintf("`make tables`, from the Go types of %s %s", module.Path, module.Version)
		}
	}
	log.Fatal("k8s.io/api is not part of this program")
	return ""
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: tables FOLDER")
	}
	kinds := builtIn()
	for name, write := range writers {
		path := filepath.Join(os.Args[1], name)
		if err := os.WriteFile(path, write(kinds), 0o644); err != nil {
			log.Fatal(err)
		}
		fmt.Println("wrote", path)
	}
}
