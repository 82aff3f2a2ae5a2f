import { assert, describe, it } from "@effect/vitest"
import { Scenario } from "@holdfast/kernel/testing"
import { Ids, Message } from "@holdfast/wire"
import * as fc from "fast-check"
import * as ModelContext from "../src/turn/ModelContext.ts"
import * as Summary from "../src/internal/calls/Summary.ts"

const { target, turnId } = Scenario

type Said = { readonly who: "user" | "assistant" | "tools" | "summary"; readonly length: number }

/** A history whose messages have the given lengths. */
const historyOf = (said: ReadonlyArray<Said>): ReadonlyArray<Message.Message> => {
  let n = 0
  const common = () => ({ id: Ids.messageIdOf(turnId, n++), turnId, createdAt: n })
  return said.flatMap(({ length, who }): ReadonlyArray<Message.Message> => {
    const text = "x".repeat(length)
    const content = [{ type: "text" as const, text }]
    switch (who) {
      case "user":
        return [{ role: "user", ...common(), content }]
      case "assistant":
        return [{ role: "assistant", ...common(), content, target }]
      case "summary":
        return [{ role: "user", ...common(), content, summary: { upTo: Ids.messageIdOf(turnId, Math.max(0, n - 2)) } }]
      case "tools": {
        const call = { toolCallId: `c${n}`, toolName: "look" }
        return [
          { role: "assistant", ...common(), target, content: [{ type: "tool-call", ...call, input: {} }] },
          { role: "tool", ...common(), content: [{ type: "tool-result", ...call, output: text, isError: false }] }
        ]
      }
      default:
        return who satisfies never
    }
  })
}

const said = fc.record<Said>({
  who: fc.constantFrom("user", "assistant", "tools", "summary"),
  length: fc.nat(2_000)
})

const contexts = fc.array(said, { maxLength: 12 }).map((said) => ModelContext.of(historyOf(said)))

const textOf = (context: ReadonlyArray<Message.Message>) => {
  const prompt = Summary.plan(context, {})?.prompt
  return prompt === undefined ? undefined : Message.textOf(prompt)
}

describe("a summary's plan", () => {
  it("rule P19: keeps the newest message, and no result without its call", () => {
    fc.assert(
      fc.property(contexts, (context) => {
        const plan = Summary.plan(context, {})
        if (plan === undefined) return
        const cut = context.findIndex(({ id }) => id === plan.upTo) + 1
        assert.isAbove(cut, 0)
        assert.isBelow(cut, context.length)
        assert.notStrictEqual(context[cut]?.role, "tool")
        const last = context[cut - 1]
        assert.isFalse(last !== undefined && Summary.isSummary(last))
      })
    )
  })

  it("rule P19: repeated compaction of a context ends", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 12 }), (said) => {
        const history = [...historyOf(said)]
        for (let n = 0; n <= said.length; n++) {
          const plan = Summary.plan(ModelContext.of(history), {})
          if (plan === undefined) return
          const before = ModelContext.of(history).length
          const id = Ids.messageIdOf(turnId, 1_000 + n)
          history.push({ ...plan.prompt, id, summary: { upTo: plan.upTo } })
          assert.isAtMost(ModelContext.of(history).length, before)
        }
        assert.isAtMost(ModelContext.of(history).length, 3)
      })
    )
  })

  it("rule P19: the transcript is shorter than the context that was too long", () => {
    fc.assert(
      fc.property(fc.array(said, { minLength: 4, maxLength: 12 }), (said) => {
        const context = ModelContext.of(historyOf(said.map(({ length, who }) => ({ who, length: length + 1_000 }))))
        const total = context.reduce((sum, message) => sum + JSON.stringify(message.content).length, 0)
        const text = textOf(context)
        if (text !== undefined) assert.isAtMost(text.length, total * 0.8 + 100)
      })
    )
  })

  it("rule P19: has the older three quarters by default", () => {
    const context = historyOf(Array.from({ length: 8 }, () => ({ who: "user", length: 100 })))
    assert.strictEqual(Summary.plan(context, {})?.upTo, context[5]?.id)
    assert.strictEqual(Summary.plan(context, { keepShare: 0.5 })?.upTo, context[3]?.id)
    assert.strictEqual(Summary.plan(context, { keepShare: 0 })?.upTo, context[6]?.id)
    assert.strictEqual(Summary.plan(context, { keepShare: 1 })?.upTo, context[0]?.id)
  })

  it("rule P19: is absent for an empty history, one message, and a summary alone", () => {
    assert.isUndefined(Summary.plan([], {}))
    assert.isUndefined(Summary.plan(historyOf([{ who: "tools", length: 9 }]), {}))
    const summed = historyOf([
      { who: "user", length: 9 },
      { who: "summary", length: 9 },
      { who: "user", length: 900 }
    ])
    assert.isUndefined(Summary.plan(ModelContext.of(summed), {}))
  })

  it("rule P19: cuts the longest texts first, in their middle", () => {
    const context = historyOf([
      { who: "user", length: 90 },
      { who: "tools", length: 40_000 },
      { who: "user", length: 9 }
    ])
    const text = textOf(context) ?? ""
    assert.include(text, `User:\n${"x".repeat(90)}\n`)
    assert.include(text, "Assistant called look: {}")
    assert.match(text, /Result of look: x+\n\[… \d+ characters …\]\nx+$/)
    assert.isBelow(text.length, 17_000)
  })

  it("rule P19: leaves a text of the limit whole, and cuts a longer one", () => {
    const whole = Summary.MOST_CHARACTERS - "User:\n".length
    const cutOf = (length: number, newest = 10_000) => {
      const context = historyOf([
        { who: "user", length },
        { who: "user", length: newest }
      ])
      const prompt = Summary.plan(context, { keepShare: 0 })?.prompt ?? assert.fail("there is nothing to sum up")
      return Message.textOf(prompt)
    }
    assert.strictEqual(cutOf(whole), `User:\n${"x".repeat(whole)}`)
    assert.match(cutOf(whole + 1), /^User:\nx+\n\[… 1 characters …\]\nx+$/)
    // Four fifths of the context, as the limit of the whole is.
    assert.strictEqual(cutOf(794, 194), `User:\n${"x".repeat(794)}`)
    assert.include(cutOf(795, 194), "characters …]")
  })

  it("rule P19: cuts several long texts alike, no shorter than necessary, and leaves none out", () => {
    const context = historyOf([
      ...Array.from({ length: 4 }, () => ({ who: "user", length: 10_000 }) as const),
      { who: "user", length: 9 }
    ])
    const prompt = Summary.plan(context, { keepShare: 0 })?.prompt ?? assert.fail("there is nothing to sum up")
    const parts = Message.textOf(prompt).split("\n\n")
    assert.strictEqual(new Set(parts).size, 1)
    assert.strictEqual(parts.length, 4)
    assert.match(parts[0] ?? "", /^User:\nx+\n\[… \d+ characters …\]\nx+$/)
    const length = parts.join("\n\n").length
    assert.isAtMost(length, 40_000 * Summary.TRANSCRIPT_SHARE + 100)
    assert.isAbove(length, 40_000 * Summary.TRANSCRIPT_SHARE * 0.7)
  })
})
