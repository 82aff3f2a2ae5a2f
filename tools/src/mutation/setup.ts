/**
 * A setup file of vitest, which `host.ts` gives to the passes of `Coverage.ts`: once the tests of a file have ended, it writes down which
 * mutation points they have evaluated. `Instrument.ts` has put the counts into the sources.
 */
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
