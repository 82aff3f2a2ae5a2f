import { defined } from "@holdfast/wire"
import { describe, expect, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import * as fc from "fast-check"
import { RetryStrategies, SpendGuard } from "../src/index.ts"
import { HOUR, policyOf, target } from "./routing/RoutedStep.ts"

const guard = (settings: object): SpendGuard.SpendGuard => {
  const { spendGuard } = policyOf({ spendGuard: settings })
  if (spendGuard === undefined) throw new Error("there is no guard")
  return spendGuard
}

const outlook = (over: Partial<RetryStrategy.Outlook> = {}): RetryStrategy.Outlook => ({
  waitedMs: HOUR,
  usage: {},
  request: { system: undefined, messages: [], tools: [], target: target("a/a") },
  ...over
})

const ask = (settings: object, tokens: number, over: Partial<RetryStrategy.Outlook> = {}) =>
  SpendGuard.ask(guard(settings), outlook(over), () => tokens)

describe("SpendGuard", () => {
  it("rule X11: is off by default, and can be switched off", () => {
    for (const settings of [{}, { profile: "interactive" }, { profile: "cycling" }, { spendGuard: "none" }]) {
      expect(policyOf(settings).spendGuard).toBeUndefined()
    }
  })

  it("rule X11: asks after an hour, and waits 8 hours for the answer, by default", () => {
    expect(guard({ maxInputTokens: 1 })).toEqual({ afterMs: HOUR, maxInputTokens: 1, answerWithinMs: 8 * HOUR })
    expect(guard({ after: "1 minute", maxTurnTokens: 5, answerWithin: "2 hours" })).toEqual({
      afterMs: 60_000,
      maxTurnTokens: 5,
      answerWithinMs: 2 * HOUR
    })
  })

  it("rule X11: bounds the next request, by an estimate", () => {
    expect(ask({ maxInputTokens: 200_000 }, 200_000)).toBeUndefined()
    expect(ask({ maxInputTokens: 200_000 }, 231_407)).toEqual({
      asks: {
        because: "request",
        tokens: 231_407,
        limit: 200_000,
        waitedMs: HOUR,
        message:
          "After 1 h of waiting the next request would be about 231,407 tokens, and more than 200,000 are not spent without asking (retry.spendGuard)."
      },
      answerWithinMs: 8 * HOUR
    })
  })

  it("rule X11: goes on without an answer where that is set, and says so", () => {
    const { asks } = ask({ maxInputTokens: 1, unanswered: "go-on" }, 5) ?? {}
    expect(asks).toMatchObject({ goesOn: true, message: expect.stringMatching(/ Without an answer it goes on\.$/u) })
    expect(guard({ maxInputTokens: 1, unanswered: "fail" })).toEqual(guard({ maxInputTokens: 1 }))
  })

  it("rule X11: says what the request costs of which no cache has anything, where the price is known", () => {
    const message = (price: object) =>
      SpendGuard.ask(
        guard({ maxInputTokens: 200_000 }),
        outlook(),
        () => 400_000,
        () => ({ input: 3, output: 15, ...price })
      )?.asks.message
    expect(message({})).toContain("about 400,000 tokens, $1.20 without its answer, and more than 200,000 are")
    expect(message({ cacheWrite: 3.75, cachedInput: 0.3 })).toContain("$1.50 without")
  })

  it("rule X11: bounds the usage of the turn so far, in and out", () => {
    const usage = { inputTokens: 60_000, outputTokens: 40_000, reasoningTokens: 30_000, cachedInputTokens: 50_000 }
    expect(ask({ maxTurnTokens: 100_000 }, 1e9, { usage })).toBeUndefined()
    expect(ask({ maxTurnTokens: 99_999 }, 0, { usage })?.asks).toMatchObject({ because: "turn", tokens: 100_000 })
  })

  it("rule X11: a turn whose provider reports no usage, or only one direction, has used the reported tokens", () => {
    const guard = { afterMs: HOUR, answerWithinMs: HOUR }
    const asks = (maxTurnTokens: number, usage: RetryStrategy.Outlook["usage"]) =>
      SpendGuard.ask({ ...guard, maxTurnTokens }, outlook({ usage }), () => 0)?.asks.tokens
    expect(asks(0, {})).toBeUndefined()
    for (const usage of [{ inputTokens: 5 }, { outputTokens: 5 }]) {
      expect([asks(5, usage), asks(4, usage)]).toEqual([undefined, 5])
    }
  })

  it("rule X7, X11: after a void attempt it bounds the turn without a long wait, and counts requests whose usage is unknown", () => {
    const usage = { inputTokens: 600, outputTokens: 400 }
    const waitedMs = 5_000
    expect(ask({ maxTurnTokens: 999 }, 0, { usage, waitedMs })).toBeUndefined()
    expect(ask({ maxTurnTokens: 1_000 }, 0, { usage, waitedMs, voids: 1 })).toBeUndefined()
    expect(ask({ maxTurnTokens: 999 }, 0, { usage, waitedMs, voids: 1 })?.asks).toMatchObject({
      because: "turn",
      tokens: 1_000,
      message:
        "After 5 s of waiting and an answer that broke off the turn has used 1,000 tokens, and more than 999 are not spent without asking (retry.spendGuard)."
    })
    const unreported = { usage, waitedMs, voids: 2, unreported: 2 }
    expect(ask({ maxTurnTokens: 1_014 }, 7, unreported)).toBeUndefined()
    expect(ask({ maxTurnTokens: 1_013 }, 7, unreported)?.asks).toMatchObject({ tokens: 1_014 })
    expect(ask({ maxTurnTokens: 1_013 }, 7, unreported)?.asks.message).toContain("and 2 answers that broke off")
    // The size of a request alone is no reason before a long wait.
    expect(ask({ maxInputTokens: 1 }, 1e9, { waitedMs, voids: 1 })).toBeUndefined()
    expect(ask({ maxInputTokens: 1 }, 1e9, { voids: 1 })?.asks.because).toBe("request")
  })

  it("rule X11: asks nothing before the wait was long", () => {
    expect(ask({ maxInputTokens: 0 }, 1e9, { waitedMs: HOUR - 1 })).toBeUndefined()
    expect(ask({ maxInputTokens: 0, after: "0 seconds" }, 1e9, { waitedMs: 0 })).toBeDefined()
  })

  it("rule X11: counts tokens for the target of the request, and only if there is a limit", () => {
    const counted: Array<string> = []
    const count = (_: unknown, { provider }: { readonly provider: string }) => counted.push(provider)
    SpendGuard.ask(guard({ maxInputTokens: 9 }), outlook({ waitedMs: 1 }), count)
    SpendGuard.ask(guard({ maxTurnTokens: 9 }), outlook(), count)
    expect(counted).toEqual([])
    SpendGuard.ask(guard({ maxInputTokens: 9 }), outlook(), count)
    expect(counted).toEqual(["a"])
  })

  it("rule X11: a strategy asks only if its policy has a guard", () => {
    const sleep: RetryStrategies.Sleep = () => {
      throw new Error("this test does not sleep")
    }
    expect(RetryStrategies.make(policyOf({}), sleep).ask).toBeUndefined()
    const made = RetryStrategies.make(policyOf({ spendGuard: { maxInputTokens: 9 } }), sleep, () => 10)
    expect(made.ask?.(outlook())?.asks.tokens).toBe(10)
  })

  it("rule X11: a strategy without a counter counts 0 tokens for a request", () => {
    const sleep: RetryStrategies.Sleep = () => {
      throw new Error("this test does not sleep")
    }
    const spendGuard = { afterMs: 0, answerWithinMs: HOUR, maxInputTokens: 0 }
    expect(RetryStrategies.make({ ...policyOf({}), spendGuard }, sleep).ask?.(outlook())).toBeUndefined()
  })

  it("rule X11: asks if and only if the wait was long and a limit is exceeded, with the true numbers", () => {
    const tokens = fc.option(fc.nat(1_000), { nil: undefined })
    fc.assert(
      fc.property(
        fc.record({ afterMs: fc.nat(100), answerWithinMs: fc.integer({ min: 1, max: 100 }) }),
        tokens,
        tokens,
        fc.record({
          waitedMs: fc.nat(200),
          ofRequest: fc.nat(1_000),
          inputTokens: fc.nat(500),
          outputTokens: fc.nat(500)
        }),
        (times, maxInputTokens, maxTurnTokens, { inputTokens, ofRequest, outputTokens, waitedMs }) => {
          const guard = {
            ...times,
            ...defined({ maxInputTokens, maxTurnTokens })
          }
          const asked = SpendGuard.ask(
            guard,
            outlook({ waitedMs, usage: { inputTokens, outputTokens } }),
            () => ofRequest
          )
          const isLong = waitedMs >= times.afterMs
          const isLarge = ofRequest > (maxInputTokens ?? Infinity)
          const isUsed = inputTokens + outputTokens > (maxTurnTokens ?? Infinity)
          expect(asked !== undefined).toBe(isLong && (isLarge || isUsed))
          if (asked === undefined) return
          const { asks, answerWithinMs } = asked
          expect(asks.tokens).toBeGreaterThan(asks.limit)
          expect([asks.because, asks.waitedMs, answerWithinMs]).toEqual([
            isLarge ? "request" : "turn",
            waitedMs,
            times.answerWithinMs
          ])
        }
      ),
      { numRuns: 2_000 }
    )
  })
})
