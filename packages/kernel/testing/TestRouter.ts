/** A router that does what a test says, and keeps what it was asked. */
import { Effect, Layer, type Schema } from "effect"
import type { Directive, Situation } from "../src/Directive.ts"
import type { Route } from "../src/Route.ts"
import { type Beginning, type Question, Router } from "../src/Router.ts"

/** Where a retry goes, and after what delay; `undefined`: there is none. */
export type Move =
  | { readonly delayMs: number; readonly route?: Route; readonly state?: Schema.Json; readonly basis?: Schema.Json }
  | undefined

export interface Options {
  /** Where a step begins; without it, on the primary. */
  readonly begin?: (question: Question) => Beginning
  readonly direct: (situation: Situation, question: Question) => Move
}

export class TestRouter {
  readonly begun: Array<Question> = []
  readonly asked: Array<readonly [situation: Situation, question: Question]> = []
  /** The calls that have succeeded. */
  readonly answered: Array<readonly [route: Route, began: number]> = []
  readonly layer: Layer.Layer<Router>

  constructor({ begin = ({ primary }) => ({ route: { target: primary } }), direct }: Options) {
    this.layer = Layer.succeed(Router, {
      begin: (question) =>
        Effect.sync(() => {
          this.begun.push(question)
          return begin(question)
        }),
      direct: (situation, question) =>
        Effect.sync((): Directive => {
          this.asked.push([situation, question])
          const move = direct(situation, question)
          if (move === undefined) return { _tag: "GiveUp", because: "exhausted" }
          return { _tag: "Retry", attempt: situation.retries, retryAt: situation.now + move.delayMs, ...move }
        }),
      answered: (route, began) => Effect.sync(() => void this.answered.push([route, began]))
    })
  }
}
