/** Tests what a report advises against each cause of failures. */
import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import * as Remedies from "../../../../src/insight/inspection/period/Remedies.ts"

const of = (reason: Failure.Reason, code?: string, variables: ReadonlyArray<string> = [], conversationId = "c") =>
  Remedies.of({ reason, code, target: "a/m", turnId: "t 1", conversationId }, 0, (provider) =>
    provider === "a" ? variables : []
  )

const retry = "holdfast retry --since 1970-01-01T00:00:00Z --model a/m"
const explain = "holdfast explain 't 1'"

describe("the remedy of a cause", () => {
  it("rule X12: is a retry where the failure may pass, and the turn's account where a retry would fail again", () => {
    const commands = new Map(Failure.Reason.literals.map((reason) => [reason, of(reason).command]))
    const explained = [...commands].filter(([, command]) => command === explain).map(([reason]) => reason)
    expect(explained.toSorted()).toEqual(["bad-request", "context-overflow", "model-unavailable", "refused"])
    expect(new Set(commands.values())).toEqual(new Set([retry, explain]))
    expect(of("overloaded")).toEqual({ command: retry })
  })

  it("rule X13: of a call of another program is its account, and never a retry", () => {
    const held = (reason: Failure.Reason) => of(reason, undefined, ["A_KEY"], "holdfast-call-1")
    expect(new Set(Failure.Reason.literals.map((reason) => held(reason).command))).toEqual(new Set([explain]))
    const only = "Only its program can ask again. The call's account:"
    expect(held("overloaded").advice).toBe(only)
    expect(held("aborted").advice).toBe(`A proxy or the provider broke the call off. ${only}`)
    expect(held("auth").advice).toBe(`Put a valid key into A_KEY and restart the service. ${only}`)
    expect(held("refused")).toEqual(of("refused"))
  })

  it("rule X12: names what to do before: the variable of a key, credit, or the limit of spending", () => {
    expect(of("auth", undefined, ["A_KEY", "B_KEY"])).toEqual({
      advice: "Put a valid key into A_KEY or B_KEY and restart the service, then:",
      command: retry
    })
    expect(of("auth").advice).toBe("Put a valid key into the configuration and restart the service, then:")
    expect(of("quota-exhausted").advice).toMatch(/^Add credit at the provider/)
    expect(of("quota-exhausted", Failure.SPEND_LIMIT).advice).toMatch(/^Raise the limit in the configuration \(spend\)/)
  })
})
