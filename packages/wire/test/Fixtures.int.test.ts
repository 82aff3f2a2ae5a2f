import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { TurnEvent } from "../src/TurnEvent.ts"

const folder = new URL("./fixtures/v1/", import.meta.url)
const files = readdirSync(folder)
const fixtures = files.map((file) => [file, JSON.parse(readFileSync(new URL(file, folder), "utf8"))] as const)

/** A later version may add keys; it must still read the events of this version. */
const decode = Schema.decodeUnknownSync(TurnEvent, { onExcessProperty: "error" })

describe("events that version 1 wrote", () => {
  for (const [file, fixture] of fixtures) {
    it(`stay readable: ${file}`, () => {
      expect(decode(fixture)).toEqual(fixture)
    })
  }

  it("have an example of every type", () => {
    expect([...new Set(fixtures.map(([, fixture]) => fixture.type))].sort()).toEqual(
      TurnEvent.members.map(({ fields }) => fields.type.schema.literal).sort()
    )
  })
})
