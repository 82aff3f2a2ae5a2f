/** Counts commands to conversations at the runner that receives them. */
import type { Command } from "@holdfast/wire"
import { Effect, Layer, Metric } from "effect"
import { Conversations } from "../../conversation/Conversations.ts"
import * as Series from "./Series.ts"

const commands = Metric.counter("holdfast_commands_total", {
  description: "Commands, by command and outcome: done, idle (there was nothing to do it to), refused.",
  incremental: true
})

const commandsBy = Series.by(commands)

/** Wraps the conversations with a count of every command. */
export const layer: Layer.Layer<Conversations, never, Conversations> = Layer.effect(
  Conversations,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    Series.create(
      commands,
      { command: Object.keys(NAMES), outcome: ["done", "idle", "refused"] },
      yield* Effect.context<never>()
    )
    return Conversations.of({
      ...conversations,
      prompt: (id, options) => counted("prompt", conversations.prompt(id, options)),
      retry: (id, options) => counted("retry", conversations.retry(id, options)),
      abort: (...meant) => counted("abort", conversations.abort(...meant)),
      steer: (steering, ...meant) => counted(steering.type, conversations.steer(steering, ...meant)),
      commandAll: (commands, origin) =>
        Effect.tap(conversations.commandAll(commands, origin), (outcomes) =>
          Effect.forEach(outcomes, ({ outcome }, i) => count(commands[i]?.command.type, outcome), { discard: true })
        ),
      setAutoRetry: (id, enabled) => counted("set-auto-retry", conversations.setAutoRetry(id, enabled)),
      setModel: (...change) => counted("set-model", conversations.setModel(...change)),
      setToolAnswers: (id, answers) => counted("set-tool-answers", conversations.setToolAnswers(id, answers))
    })
  })
)

// --- internal

const NAMES: Readonly<Record<Command.Command["type"], true>> = {
  prompt: true,
  retry: true,
  abort: true,
  "abort-retry": true,
  "retry-now": true,
  "wait-until": true,
  "switch-target": true,
  "extend-budget": true,
  "answer-tool": true,
  "set-auto-retry": true,
  "set-model": true,
  "set-tool-answers": true
}

const count = (
  command: Command.Command["type"] | undefined,
  outcome: "done" | "idle" | "refused"
): Effect.Effect<void> => (command === undefined ? Effect.void : Metric.update(commandsBy({ command, outcome }), 1))

const counted = <A, E>(command: Command.Command["type"], effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  effect.pipe(
    Effect.tap((result) => count(command, result === false ? "idle" : "done")),
    Effect.tapError(() => count(command, "refused"))
  )
