import { describe, expect, it } from "@effect/vitest"
import { Neighbours } from "../../src/cluster/Neighbours.ts"

const OWN = "10.0.0.5:4748"
const seeing = (...looks: ReadonlyArray<readonly [at: number, ...runners: ReadonlyArray<string>]>) => {
  const neighbours = new Neighbours(OWN)
  for (const [at, ...runners] of looks) neighbours.see(runners, at)
  return neighbours
}

describe("the runner that a take-over is from", () => {
  it("rule X6: is the runner that has gone", () => {
    const one = seeing([0, OWN, "10.0.0.6:4748", "10.0.0.7:4748"], [1_000, OWN, "10.0.0.7:4748"])
    expect(one.origin(20_000)).toBe("runner 10.0.0.6:4748, which is gone")
    const two = seeing([0, OWN, "10.0.0.6:4748", "10.0.0.7:4748"], [1_000, OWN])
    expect(two.origin(2_000)).toBe("runners 10.0.0.6:4748, 10.0.0.7:4748, which are gone")
  })

  it("rule X6: is a runner that went less than a minute ago: its locks expire long before", () => {
    const gone = seeing([0, OWN, "10.0.0.6:4748"], [1_000, OWN])
    expect([gone.gone(59_999), gone.gone(60_000)]).toEqual([["10.0.0.6:4748"], []])
  })

  it("is a runner that shares with this one, if none has gone", () => {
    const back = seeing([0, OWN, "10.0.0.6:4748"], [81_000, OWN], [82_000, OWN, "10.0.0.6:4748"])
    expect(back.origin(83_000)).toBe("runner 10.0.0.6:4748, which now shares with this one")
    const long = seeing([0, OWN, "10.0.0.6:4748", "10.0.0.7:4748"], [1_000, OWN, "10.0.0.7:4748"])
    expect(long.origin(3_600_000)).toBe("runner 10.0.0.7:4748, which now shares with this one")
  })

  it("rule X6: may be an earlier one, as long as this one could not have seen it go: its own process before it was killed", () => {
    const killed = seeing([0, OWN, "10.0.0.6:4748"])
    expect(killed.origin(1_000)).toBe("earlier runners or runner 10.0.0.6:4748")
    expect(killed.origin(59_999)).toBe("earlier runners or runner 10.0.0.6:4748")
    expect(killed.origin(60_000)).toBe("runner 10.0.0.6:4748, which now shares with this one")
  })

  it("is not known to the first runner, and is never this one", () => {
    expect(seeing([0, OWN]).origin(1_000)).toBe("earlier runners")
    expect(seeing([0, OWN], [1_000], [2_000, OWN]).origin(3_000)).toBe("earlier runners")
    expect(seeing([0, OWN], [1_000]).origin(3_000)).toBe("earlier runners")
  })
})
