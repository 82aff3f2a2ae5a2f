/** Declares tests whose bodies are effects, written as generators. */
import { it } from "@effect/vitest"
import { Effect, type Layer, Logger, type Scope } from "effect"

/** What a test does with what it is given. */
export type Body<Given extends ReadonlyArray<unknown> = [], R = Scope.Scope, A = void> = (
  ...given: Given
) => Generator<Effect.Effect<unknown, unknown, R>, A, never>

/** A test under a test clock, with a scope of its own. */
export const effect = (title: string, body: Body): void => it.effect(title, () => Effect.gen(body))

/** A test on the clock of the machine, with a scope of its own. */
export const live = (title: string, body: Body): void => it.live(title, () => Effect.gen(body))

/** Declares the tests of a suite over one of its layers: each builds the layer again, and is titled by the suite's name. */
export const suite =
  <R>(name: string, layer: Layer.Layer<R, unknown>, declare?: typeof it.effect) =>
  (title: string, body: Body<[], R | Scope.Scope>): void =>
    within(layer, declare)(`${name}: ${title}`, body)

/** Declares tests like `effect`, or like `live`, each of them with services of its own. */
export const within =
  <R>(layer: Layer.Layer<R, unknown>, declare: typeof it.effect = it.effect) =>
  (title: string, body: Body<[], R | Scope.Scope>): void =>
    declare(title, () => Effect.provide(Effect.gen(body), layer))

/** The lines of the log while a test runs in `layer`, each behind its level. */
export const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
  return { lines, layer: Logger.layer([logger]) }
}
