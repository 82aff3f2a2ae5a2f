import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import * as SessionName from "../../../src/storage/sql/SessionName.ts"
import * as Law from "../../Law.ts"

describe("the name of a runner's sessions", () => {
  it("is the runner's address and its number of shards, for those who read pg_stat_activity", () => {
    expect(SessionName.of("10.0.0.5:4748", 300)).toBe("holdfast 10.0.0.5:4748/300")
    expect(SessionName.parse("holdfast ::1:4748/60")).toEqual({ address: "::1:4748", isHashed: false, shards: 60 })
  })

  it("fits into what PostgreSQL keeps of a name, whatever the address, and stays its own", () => {
    const address = fc.stringMatching(/^[A-Za-z0-9.-]{1,253}:[0-9]{1,5}$/)
    Law.holds([address, fc.integer({ min: 1, max: 10_000 })], (address, shards) => {
      const name = SessionName.of(address, shards)
      const owner = SessionName.parse(name)
      expect(name.length).toBeLessThanOrEqual(63)
      expect(owner?.shards).toBe(shards)
      expect(owner?.address).toBe(owner?.isHashed ? SessionName.hashOf(address) : address)
    })
    const longest = `${"a".repeat(45)}:4748`
    expect(SessionName.of(longest, 300)).toBe(`holdfast ${longest}/300`)
    expect(SessionName.of(`a${longest}`, 300)).toBe(`holdfast #${SessionName.hashOf(`a${longest}`)}/300`)
  })

  it("has the beginning of a hash for an address that is too long, by which operators find it", () => {
    expect(SessionName.hashOf("10.0.0.5:4748")).toBe(
      createHash("sha256").update("10.0.0.5:4748").digest("hex").slice(0, 32)
    )
  })

  it("is nothing that another session has", () => {
    for (const name of [SessionName.PLAIN, "psql", "holdfast /300", "holdfast 10.0.0.5:4748", ""]) {
      expect(SessionName.parse(name)).toBeUndefined()
    }
  })
})
