/**
 * What the service gives its turns besides a provider, where there is no service: routing, the final report, limits.
 *
 * H1. What turns find out about targets and credentials is kept here, for all turns of a scenario.
 */
import { Compactor, FinalReport, type Provider, Router, type TurnLimits } from "@holdfast/kernel"
import { type Models, type RetryPolicy, Routes, Standing } from "@holdfast/policy"
import { Message, type Target } from "@holdfast/wire"
import { Clock, Effect, Layer, Predicate } from "effect"
import type { Scenario } from "./Scenario.ts"

/** The name of the tool by which a report is handed in. */
export const REPORT = "final_report"

export interface Shell {
  /** For one turn, on the conversation before it. */
  readonly of: (history: ReadonlyArray<Message.Message>) => Layer.Layer<never, never, Provider.Provider>
  readonly limits: TurnLimits.TurnLimits
}

export const make = (scenario: Scenario, policy: RetryPolicy.RetryPolicy): Shell => {
  const { credentials = {}, models = {} } = scenario
  let standing = Standing.empty
  const known = (now: number): Routes.Known => ({
    standing: Standing.expire(standing, now),
    credentials,
    models,
    countTokens
  })
  const routerFor = (history: ReadonlyArray<Message.Message>): Router.Router["Service"] => {
    const last = lastAnswer(history)
    return {
      begin: (question) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const current = question.current ?? (last === undefined ? undefined : { target: last })
          return Routes.begin(policy, { ...question, current }, known(now), now)
        }),
      direct: (situation, question) =>
        Effect.sync(() => {
          const { changes, directive } = Routes.direct(policy, situation, question, known(situation.now))
          standing = Standing.merge(standing, changes)
          return directive
        })
    }
  }
  const report = reportOf(policy)
  const { maxTurns, finalReport: { contextBudget } = {} } = policy
  return {
    of: (history) =>
      Layer.mergeAll(
        Layer.succeed(Router.Router, routerFor(history)),
        report === undefined ? Layer.empty : Layer.succeed(FinalReport.FinalReport, report),
        Compactor.summarising()
      ),
    limits: {
      ...(maxTurns === undefined ? {} : { maxTurns }),
      ...(contextBudget === undefined
        ? {}
        : { exceedsContext: ({ usage }) => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0) > contextBudget })
    }
  }
}

// --- internal

/** A word is a token. */
const countTokens: Models.CountTokens = ({ messages }) =>
  messages.reduce((sum, message) => sum + Message.textOf(message).split(/\s+/).length, 0)

const lastAnswer = (history: ReadonlyArray<Message.Message>): Target.Target | undefined => {
  const answer = history.findLast((message) => message.role === "assistant" && message.error === undefined)
  return answer?.role === "assistant" ? answer.target : undefined
}

/** A report has the keys that its schema requires. */
const reportOf = ({ finalReport }: RetryPolicy.RetryPolicy): FinalReport.FinalReport["Service"] | undefined => {
  if (finalReport === undefined) return undefined
  const required = finalReport.schema["required"]
  const keys = Array.isArray(required) ? required.map(String) : []
  return {
    tool: { name: REPORT, inputSchema: finalReport.schema },
    validate: (report) => {
      const missing = keys.find((key) => !Predicate.hasProperty(report, key))
      return missing === undefined ? undefined : `report must have required property '${missing}'`
    }
  }
}
