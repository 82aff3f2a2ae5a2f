import { assert, describe, it } from "vitest"
import * as Options from "../src/Options.ts"

describe("the options of simulate", () => {
  it("are numbers of nights and seeds, and anything else is said in words", () => {
    const none = {
      nights: 1000,
      workers: 2,
      seed: undefined,
      from: undefined,
      cluster: undefined,
      defects: false,
      whole: false
    }
    assert.deepStrictEqual(Options.read([]), none)
    assert.deepStrictEqual(Options.read(["--seed", "0", "--whole"]), { ...none, seed: 0, whole: true })
    const cluster = { runners: 50, lost: 2, turns: 1000, shards: 300 }
    assert.deepStrictEqual(Options.read(["--cluster", "--lost", "2"]), { ...none, cluster })
    for (const [name, text] of [
      ["nights", "abc"],
      ["nights", "0"],
      ["seed", "1.5"],
      ["from", ""]
    ] as const) {
      assert.include(Options.read([`--${name}`, text]), `--${name}: found ${JSON.stringify(text)}; expected a whole`)
    }
    assert.include(Options.read(["--bogus"]), "Unknown option '--bogus'")
  })
})
