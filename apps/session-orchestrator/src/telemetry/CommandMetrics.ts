/** What clients ask of conversations, counted where it enters the service, whoever owns the conversation. */
import { Effect, Layer, Metric } from "effect"
import { Conversations } from "../conversation/Conversations.ts"

const commands = Metric.counter("holdfast_commands_total", {
  description: "Commands, by command and outcome: done, idle (there was nothing to do it to), refused.",
  incremental: true
})

/** The same conversations, counted. */
export const layer: Layer.Layer<Conversations, never, Conversations> = Layer.effect(
  Conversations,
  Conversations.useSync((conversations) =>
    Conversations.of({
      ...conversations,
      prompt: (id, options) => counted("prompt", conversations.prompt(id, options)),
      retry: (id, options) => counted("retry", conversations.retry(id, options)),
      abort: (...meant) => counted("abort", conversations.abort(...meant)),
      steer: (steering, ...meant) => counted(steering.type, conversations.steer(steering, ...meant)),
      setAutoRetry: (id, enabled) => counted("set-auto-retry", conversations.setAutoRetry(id, enabled))
    })
  )
)

// --- internal

const counted = <A, E>(command: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  const count = (outcome: string) => Metric.update(Metric.withAttributes(commands, { command, outcome }), 1)
  return effect.pipe(
    Effect.tap((result) => count(result === false ? "idle" : "done")),
    Effect.tapError(() => count("refused"))
  )
}
