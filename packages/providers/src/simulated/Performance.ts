/**
 * From a request to the cues that answer it, whether it came from a kernel or over a socket.
 *
 * The script is the model's name, unless the prompt has a directive. How far each turn has come in its script is in `Tally`.
 */
import { Result } from "effect"
import * as Conversation from "./Conversation.ts"
import { type Cue, play } from "./Cue.ts"
import * as Scripts from "./Scripts.ts"
import type { NotUnderstood } from "./Syntax.ts"
import * as Tally from "./Tally.ts"

/** What a simulated provider reads of a request. */
export interface Request {
  /** The same for every request of a turn. */
  readonly turn: string
  readonly model: string
  /** The last thing that a person wrote. */
  readonly prompt: string
  readonly afterTool: boolean
  readonly tools: ReadonlyArray<string>
  /** Asked for where an answer comes to its end, and nowhere else: counting reads the whole conversation. */
  readonly inputTokens: () => number
  readonly origin: Tally.Origin
}

/** Counts a request and says how it is answered; fails where model or directive are no script. */
export type Begin = (request: Request, now: number) => Result.Result<Iterable<Cue>, NotUnderstood>

/** Has seen no turn yet. */
export const make = (options?: Tally.Options): Begin => {
  const tally = Tally.make(options)
  const scripts = Scripts.make()
  return (request, now) => {
    const prompt = Conversation.readPrompt(request.prompt)
    const name = prompt.directive ?? request.model
    return Result.map(scripts(name), (script) => {
      const { act, failures, startedAt } = tally.take(request.turn, name, script, request.origin, now)
      return play(act, {
        delivery: script.delivery,
        tools: request.tools,
        inputTokens: request.inputTokens,
        occasion: { prompt: prompt.text, failures, elapsedMs: now - startedAt, afterTool: request.afterTool }
      })
    })
  }
}
