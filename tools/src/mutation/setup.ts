/** Runs in each test file of a coverage pass: writes the points that were evaluated when the tests have ended. */
import { writeFileSync } from "node:fs"
import { afterAll, inject } from "vitest"
import { GLOBAL } from "./Instrument.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly mutationPointsFile: string
  }
}

afterAll(() => {
  const points: { readonly [path: string]: ReadonlySet<string> } = Reflect.get(globalThis, GLOBAL) ?? {}
  const plain = Object.fromEntries(Object.entries(points).map(([path, names]) => [path, [...names]]))
  writeFileSync(inject("mutationPointsFile"), JSON.stringify(plain))
})
