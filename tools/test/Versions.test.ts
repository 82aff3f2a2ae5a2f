/** All packages are released together. */
import { assert, it } from "vitest"
import { globSync, readFileSync } from "node:fs"
import { join, matchesGlob } from "node:path"

const root = join(import.meta.dirname, "../..")
const json = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"))

it("all packages have one version, and are one group of changesets", () => {
  const manifests = globSync("{packages/*,apps/*,tools,bench,examples}/package.json", { cwd: root }).map(json)
  assert.isAbove(manifests.length, 10)
  assert.lengthOf(new Set(manifests.map(({ version }) => version)).values().toArray(), 1)
  const [group] = json(".changeset/config.json").fixed
  for (const { name } of manifests)
    assert.isTrue(
      group.some((pattern: string) => matchesGlob(name, pattern)),
      name
    )
})

it("effect is a peer of every package but those whose types conceal it", () => {
  const manifests = globSync("packages/*/package.json", { cwd: root }).map(json)
  const withOwn = manifests.filter(({ dependencies }) => dependencies?.effect !== undefined)
  assert.deepStrictEqual(withOwn.map(({ name }) => name).toSorted(), ["@holdfast/ai-sdk", "holdfast"])
  for (const name of ["wire", "kernel", "policy", "providers", "journal", "mcp", "simulated", "client", "effect-ai"])
    assert.strictEqual(json(`packages/${name}/package.json`).peerDependencies.effect, "catalog:", name)
})
