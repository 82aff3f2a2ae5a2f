/** A router that follows a test's functions, and keeps its questions. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { type Directive, type Situation, waitOf } from "../src/turn/Directive.ts"
import type { Route } from "../src/records/Route.ts"
import { type Beginning, type Question, Router } from "../src/ports/Router.ts"

/** The route and the delay of a retry; `undefined`: there is none. */
export type Move =
  | { readonly delayMs: number; readonly route?: Route; readonly state?: Schema.Json; readonly basis?: Schema.Json }
  | undefined

/** The functions of a test that decide. */
export interface Options {
  /** The first route of a step; absent: the primary. */
  readonly begin?: (question: Question) => Beginning
  readonly direct: (situation: Situation, question: Question) => Move
}

/** A router over functions, with its questions in order. */
export class TestRouter {
  readonly begun: Array<Question> = []
  readonly asked: Array<readonly [situation: Situation, question: Question]> = []
  /** The successful calls. */
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
          return { _tag: "Retry", attempt: situation.retries, ...move, ...waitOf(situation, move.delayMs) }
        }),
      answered: (route, began) => Effect.sync(() => void this.answered.push([route, began]))
    })
  }
}
