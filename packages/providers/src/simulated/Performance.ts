/**
 * From a request to the cues that answer it, whether it came from a kernel or over a socket.
 *
 * The script is the model's name, unless the prompt has a directive. What a turn has met so far is in `Tally`.
 */
import { Result } from "effect"
import * as Conversation from "./Conversation.ts"
import { type Cue, play } from "./Cue.ts"
import type { Origin, Tally } from "./Tally.ts"
import * as Syntax from "./Syntax.ts"

/** What a simulated provider reads of a request. */
export interface Request {
  /** The same for every request of a turn. */
  readonly turn: string
  readonly model: string
  /** The last thing that a person wrote. */
  readonly prompt: string
  readonly afterTool: boolean
  readonly tools: ReadonlyArray<string>
  readonly inputTokens: number
  readonly origin: Origin
}

/** Counts a request and says how it is answered; fails where model or directive are no script. */
export const begin = (
  request: Request,
  tally: Tally,
  now: number
): Result.Result<Iterable<Cue>, Syntax.NotUnderstood> => {
  const prompt = Conversation.readPrompt(request.prompt)
  const name = prompt.directive ?? request.model
  return Result.map(Syntax.parse(name), (script) => {
    const { act, failures, startedAt } = tally.take(request.turn, name, script, request.origin, now)
    return play(act, {
      delivery: script.delivery,
      tools: request.tools,
      inputTokens: request.inputTokens,
      occasion: { prompt: prompt.text, failures, elapsedMs: now - startedAt, afterTool: request.afterTool }
    })
  })
}
