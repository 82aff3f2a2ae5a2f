import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { fate, TurnEvent } from "../src/TurnEvent.ts"

const folder = new URL("./fixtures/v1/", import.meta.url)
const files = readdirSync(folder)
const fixtures = files.map((file) => [file, JSON.parse(readFileSync(new URL(file, folder), "utf8"))] as const)

/** A later version may add keys; it must still read what this one wrote. */
const decode = Schema.decodeUnknownSync(TurnEvent, { onExcessProperty: "error" })

describe("what version 1 wrote", () => {
  for (const [file, fixture] of fixtures) {
    it(`is read for ever: ${file}`, () => {
      expect(decode(fixture)).toEqual(fixture)
    })
  }

  it("has an example of every type", () => {
    expect([...new Set(fixtures.map(([, fixture]) => fixture.type))].sort()).toEqual(Object.keys(fate).sort())
  })
})
