"""The files that tests give to kubectl."""

SEVERAL = """
apiVersion: v1
kind: ConfigMap
metadata: {name: several, labels: {app: several}}
data: {a: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: several, labels: {app: several}}
stringData: {a: "1"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: several, labels: {app: several}}
spec:
  parallelism: 2
  completions: 3
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        command: [sleep, "1"]
        env: [{name: A, value: b}]
        resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 2Gi}}
"""

SEVERAL_CHANGED = SEVERAL.replace("parallelism: 2", "parallelism: 5").replace(
    'data: {a: "1"}', 'data: {a: "2", b: "3"}', 1
)

MISSPELT = """
apiVersion: batch/v1
kind: Job
metadata: {name: misspelt}
spec:
  paralelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, comand: [a]}
"""

WRONG = """
apiVersion: batch/v1
kind: Job
metadata: {name: Wrong_}
spec:
  completions: -2
  template:
    spec:
      containers:
      - {name: main}
"""

TRAINS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trains.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: trains, singular: train, kind: Train, shortNames: [tr], categories: [rail]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.wagons
        statusReplicasPath: .status.wagons
        labelSelectorPath: .status.selector
    additionalPrinterColumns:
    - {name: Wagons, type: integer, jsonPath: .spec.wagons}
    - {name: Line, type: string, jsonPath: .spec.line, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: A train.
        properties:
          spec:
            type: object
            description: What it is to be.
            required: [line]
            properties:
              wagons: {type: integer, minimum: 0, default: 1, description: How many.}
              line: {type: string, enum: [red, blue]}
              stops:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, minutes: {type: integer}}
          status:
            type: object
            properties:
              wagons: {type: integer}
              selector: {type: string}
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
"""

TRAIN = """
apiVersion: kubectl.example.com/v1
kind: Train
metadata: {name: one}
spec: {line: red, stops: [{name: a, minutes: 2}]}
"""

NODE = """
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {kubernetes.io/hostname: NAME}}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "10"}
  allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
  addresses: [{type: InternalIP, address: 10.1.1.1}, {type: Hostname, address: NAME}]
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: all well}]
  nodeInfo:
    architecture: amd64
    bootID: a
    containerRuntimeVersion: b
    kernelVersion: c
    kubeProxyVersion: ""
    kubeletVersion: v1.35.8
    machineID: d
    operatingSystem: linux
    osImage: e
    systemUUID: f
"""
