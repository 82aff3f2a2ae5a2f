/** The manifest of a published package. */
import { assert, describe, it } from "vitest"
import * as Manifest from "../src/pack/Manifest.ts"

const folder: Manifest.Manifest = {
  name: "@holdfast/example",
  version: "1.2.3",
  bin: { holdfast: "./bin/holdfast" },
  publish: { bin: { holdfast: "./src/main.js" }, peerDependencies: { framework: ">=1 <2" } },
  exports: { ".": "./src/index.ts", "./schema.json": "./schema.json" },
  scripts: { check: "tsc" },
  dependencies: { "@holdfast/wire": "workspace:*", effect: "catalog:", ajv: "catalog:", other: "^9" },
  devDependencies: { vitest: "catalog:" }
}

describe("a published manifest", () => {
  const published = Manifest.published(folder, {
    catalog: { effect: "4.1.0", ajv: "8.20.0" },
    modules: { "./Turn": "./src/turn/Turn.ts" },
    repository: { url: "git+https://example.com/a/holdfast.git", directory: "packages/example" }
  })

  it("Manifest.M1: names JavaScript with its types, and the program of the published package", () => {
    assert.deepInclude(published, {
      bin: { holdfast: "./src/main.js" },
      exports: {
        ".": { types: "./src/index.d.ts", default: "./src/index.js" },
        "./schema.json": "./schema.json",
        "./Turn": { types: "./src/turn/Turn.d.ts", default: "./src/turn/Turn.js" }
      },
      engines: { node: ">=22" },
      repository: { type: "git", url: "git+https://example.com/a/holdfast.git", directory: "packages/example" },
      peerDependencies: { framework: ">=1 <2" }
    })
    for (const key of ["scripts", "devDependencies", "publish", "private"]) assert.notProperty(published, key)
  })

  it("Manifest.M2: asks for versions that a registry has", () => {
    assert.deepInclude(published, {
      dependencies: { "@holdfast/wire": "1.2.3", effect: "~4.1.0", ajv: "^8.20.0", other: "^9" }
    })
    assert.throws(() => Manifest.published(folder, { catalog: {}, modules: {} }), /no version of effect/)
  })

  it("Manifest.M2: asks for a peer in a version that a registry has", () => {
    const { dependencies: _, ...peered } = { ...folder, peerDependencies: { effect: "catalog:" } }
    const manifest = Manifest.published(peered, { catalog: { effect: "4.1.0" }, modules: {} })
    assert.deepInclude(manifest, { peerDependencies: { effect: "~4.1.0" } })
  })

  it("Manifest.M3: of a bundle asks only for what the bundle does not contain", () => {
    const publish = { ...folder.publish, bundle: "program", dependencies: ["ajv"] }
    const bundled = Manifest.published({ ...folder, publish }, { catalog: { ajv: "8.20.0" }, modules: {} })
    assert.deepInclude(bundled, {
      bin: { holdfast: "./src/main.js" },
      dependencies: { ajv: "^8.20.0" },
      engines: { node: ">=22.19" }
    })
    assert.notProperty(bundled, "bundle")
  })
})

it("declarations and scripts name the files that the compiler wrote", () => {
  assert.strictEqual(
    Manifest.declaration('export * from "./A.ts"\nimport("../B.ts").C'),
    'export * from "./A.js"\nimport("../B.js").C'
  )
  assert.strictEqual(Manifest.declaration('import { x } from "a.ts"'), 'import { x } from "a.ts"')
  assert.strictEqual(
    Manifest.script('new Worker(new URL("./Thread.ts", import.meta.url))'),
    'new Worker(new URL("./Thread.js", import.meta.url))'
  )
})

it.each([
  ["git@example.com:a/holdfast.git", "git+https://example.com/a/holdfast.git"],
  ["ssh://git@example.com/a/holdfast.git", "git+https://example.com/a/holdfast.git"],
  ["https://example.com/a/holdfast.git", "git+https://example.com/a/holdfast.git"],
  ["/a/folder/holdfast", undefined],
  ["file:///a/folder/holdfast", undefined]
])("the origin %s is published as %s", (origin, address) => {
  assert.strictEqual(Manifest.repositoryOf(origin), address)
})
