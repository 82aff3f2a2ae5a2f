import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Notices from "../../src/notices/Notices.ts"

const turn = (id: string, status: Notices.Watched["status"], more: object = {}): Notices.Watched =>
  ({ turnId: id, conversationId: `c-${id}`, status, attempts: 1, prompt: `Prompt ${id}`, ...more }) as Notices.Watched

const asking = (id: string, attempts = 1) =>
  turn(id, "waiting", { attempts, wait: { retry: 0, retryAt: 0, since: 0, asks: { message: "Go on?" } } })

it("a turn that ends or asks is one notice, and what was there at first is none", () => {
  const first = Notices.of(undefined, [turn("a", "completed"), turn("b", "waiting")], undefined)
  expect(first.notices).toEqual([])
  const second = Notices.of(
    first.known,
    [turn("a", "completed"), turn("b", "failed", { error: { message: "Overloaded" } }), asking("c")],
    undefined
  )
  expect(second.notices).toEqual([
    { tag: "b ended", title: "Failed: Prompt b", body: "Overloaded", conversationId: "c-b" },
    { tag: "c asks 1", title: "Asks you: Prompt c", body: "Go on?", conversationId: "c-c" }
  ])
  const third = Notices.of(second.known, [turn("b", "failed"), asking("c"), asking("c", 2)], undefined)
  expect(third.notices.map(({ tag }) => tag)).toEqual(["c asks 2"])
})

it("the conversation that a person looks at has no notice, then or later", () => {
  const { known } = Notices.of(undefined, [], undefined)
  const seen = Notices.of(known, [turn("a", "completed")], "c-a")
  expect(seen.notices).toEqual([])
  expect(Notices.of(seen.known, [turn("a", "completed")], undefined).notices).toEqual([])
})

it("many at once are one notice with their counts", () => {
  const turns = [...Array.from({ length: 5 }, (_, n) => turn(String(n), "completed")), turn("x", "failed"), asking("y")]
  const { notices } = Notices.of(new Set(), turns, undefined)
  expect(notices).toEqual([
    {
      tag: "sum 0 ended",
      title: "7 turns have ended or ask",
      body: "1 waiting for your answer, 1 failed, 5 answered",
      conversationId: undefined
    }
  ])
})

it("no state of a turn is notified twice, in whatever reads it comes", () => {
  const state = fc
    .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("completed", "running", "waiting", "asks"))
    .map(([id, kind]) => (kind === "asks" ? asking(id) : turn(id, kind as "completed")))
  fc.assert(
    fc.property(fc.array(fc.array(state, { maxLength: 3 })), (reads) => {
      let known: Notices.Known = new Set()
      const tags: Array<string> = []
      for (const turns of reads) {
        const read = Notices.of(known, turns, undefined)
        known = read.known
        tags.push(...read.notices.map(({ tag }) => tag))
      }
      expect(new Set(tags).size).toBe(tags.length)
    })
  )
})
