/**
 * An engine in memory, as strict as Restate: calls are compared with the journal by their order, and none is part of another.
 *
 * Its answers come late and in any order, so that a turn that depends on their order contradicts its journal.
 */
import { CheckpointSuite } from "@holdfast/kernel/testing"
import type { Engine, Json } from "../src/index.ts"

interface Entry {
  readonly name: string
  result?: { readonly value: Json }
}

/** One turn of the engine. */
export class JournaledEngine {
  readonly journal: Array<Entry> = []
  /** What a turn did that the engine refuses. */
  readonly faults: Array<string> = []
  /** Draws the delay of an answer, in turns of the event loop. */
  private readonly lateness: () => number

  constructor(lateness: () => number = () => 0) {
    this.lateness = lateness
  }

  /** One run of the turn; `end` is the death of its process. `dies` is asked when work is done, before its result is recorded, and afterwards. */
  live(dies: (at: "done" | "recorded", name: string) => boolean = () => false): {
    readonly engine: Engine
    readonly end: () => void
  } {
    const life = new AbortController()
    const underWay = new Set<string>()
    let next = 0
    const call = (name: string, work: () => Promise<Json>): Promise<Json> => {
      for (const other of underWay)
        if (!CheckpointSuite.areSiblings(other, name)) this.faults.push(`${name} is called while ${other} is under way`)
      const known = this.journal[next]
      if (known === undefined) this.journal.push({ name })
      const entry = this.journal[next++] as Entry
      if (entry.name !== name) this.faults.push(`${name} is called where the journal has ${entry.name}`)
      underWay.add(name)
      return new Promise((resolve) => {
        const settle = async (value: Json, isNew: boolean) => {
          if (isNew && dies("done", name)) life.abort()
          if (life.signal.aborted) return
          entry.result = { value }
          if (isNew && dies("recorded", name)) life.abort()
          for (let n = this.lateness(); n > 0; n--) await new Promise(setImmediate)
          if (life.signal.aborted) return
          underWay.delete(name)
          resolve(value)
        }
        if (entry.result !== undefined) return void settle(entry.result.value, false)
        void work().then((value) => settle(value, true))
      })
    }
    return {
      engine: {
        id: "t1",
        run: (name, work) => (life.signal.aborted ? new Promise(() => {}) : call(name, work)),
        sleep: (name) => (life.signal.aborted ? new Promise(() => {}) : call(name, async () => null)),
        over: life.signal
      },
      end: () => life.abort()
    }
  }
}
