import { expect, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"

const source = path.join(import.meta.dirname, "../../src")

/** What a file and all that it loads at once import from other packages. */
const packagesOf = (entry: string): ReadonlySet<string> => {
  const packages = new Set<string>()
  const files = new Set([entry])
  for (const file of files) {
    const text = fs.readFileSync(file, "utf8")
    for (const [, specifier = ""] of text.matchAll(/^(?:import|export) (?!type\b)[^"]*?from "([^"]+)"/gm)) {
      if (specifier.startsWith(".")) files.add(path.resolve(path.dirname(file), specifier))
      else packages.add(specifier)
    }
  }
  return packages
}

it("a service on a file loads nothing of PostgreSQL and of clusters", () => {
  const loaded = packagesOf(path.join(source, "Composition.ts"))
  expect(loaded).toContain("effect/sql")
  expect(loaded).not.toContain("effect/cluster")
  expect(loaded).not.toContain("@effect/sql-pg")
  // Where they would be found, were they loaded.
  expect(packagesOf(path.join(source, "cluster/Cluster.ts"))).toContain("@effect/sql-pg")
})
