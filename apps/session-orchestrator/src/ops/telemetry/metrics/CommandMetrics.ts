/** Counts commands to conversations at the runner that receives them. */
import { type Command, Commands } from "@holdfast/wire"
import { Effect, Layer, Metric } from "effect"
import { Conversations } from "../../../engine/conversation/Conversations.ts"
import * as Series from "./Series.ts"

const commands = Metric.counter("holdfast_commands_total", {
  description: "Commands, by command and outcome: done, idle (there was nothing to do it to), refused.",
  incremental: true
})

/** Wraps the conversations with a count of every command. */
export const layer: Layer.Layer<Conversations, never, Conversations> = Layer.effect(
  Conversations,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const context = yield* Effect.context<never>()
    Series.create(commands, { command: Commands.names().map(Commands.kebab), outcome: OUTCOMES }, context)
    const add = Series.counting(context)
    const count = (command: Command.Command["type"], outcome: (typeof OUTCOMES)[number]) =>
      Effect.sync(() => add(commands, 1, { command, outcome }))
    const counted = <A, E>(command: Command.Command["type"], effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      effect.pipe(
        Effect.tap((result) => count(command, result === false ? "idle" : "done")),
        Effect.tapError(() => count(command, "refused"))
      )
    return Conversations.of({
      ...conversations,
      prompt: (id, options) => counted("prompt", conversations.prompt(id, options)),
      retry: (id, options) => counted("retry", conversations.retry(id, options)),
      abort: (...meant) => counted("abort", conversations.abort(...meant)),
      steer: (steering, ...meant) => counted(steering.type, conversations.steer(steering, ...meant)),
      change: (command, options) => counted(command.type, conversations.change(command, options))
    })
  })
)

// --- internal

const OUTCOMES = ["done", "idle", "refused"] as const
