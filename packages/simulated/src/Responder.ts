/**
 * Chooses the response to a request, from a kernel or over a socket.
 *
 * The script is the model's name, unless the prompt has a directive. `TurnProgress` keeps each turn's position in its script.
 */
import * as Result from "effect/Result"
import * as AnswerText from "./AnswerText.ts"
import { actionsOf, type ResponseAction } from "./ResponseAction.ts"
import type { Outcome, Script } from "./script/Script.ts"
import type { NotUnderstood } from "./script/Syntax.ts"
import * as TurnProgress from "./TurnProgress.ts"
import * as Syntax from "./script/Syntax.ts"

/** The parts of a request that a simulated provider reads. */
export interface SimulatedRequest {
  /** The same for every request of a turn. */
  readonly turn: string
  readonly model: string
  /** The last message of a person. */
  readonly prompt: string
  readonly afterTool: boolean
  readonly tools: ReadonlyArray<string>
  /** Called only at the end of an answer, because counting reads the whole conversation. */
  readonly inputTokens: () => number
  /** The size of the request; called only where the script depends on it. */
  readonly bytes: () => number
  readonly origin: TurnProgress.TurnOrigin
}

/** The response to a request. */
interface Response {
  readonly outcome: Outcome
  readonly actions: Iterable<ResponseAction>
}

/** Counts a request and returns its response; fails where the model or the directive is no script. */
export type Responder = (request: SimulatedRequest, now: number) => Result.Result<Response, NotUnderstood>

/** A responder that has no turns yet. */
export const make = (options?: TurnProgress.Options): Responder => {
  const progress = TurnProgress.make(options)
  const scripts = scriptCache()
  return (request, now) => {
    const prompt = AnswerText.readPrompt(request.prompt)
    const name = prompt.directive ?? request.model
    return Result.map(scripts(name), (script) => {
      const { outcome, failures, startedAt } = progress.take(
        request.turn,
        name,
        script,
        request.origin,
        now,
        request.bytes
      )
      const actions = actionsOf(outcome, {
        delivery: script.delivery,
        tools: request.tools,
        inputTokens: request.inputTokens,
        facts: { prompt: prompt.text, failures, elapsedMs: now - startedAt, afterTool: request.afterTool }
      })
      return { outcome, actions }
    })
  }
}

/** Parses a script, as `Syntax.parse` does. */
type ScriptCache = (name: string) => Result.Result<Script, Syntax.NotUnderstood>

/** The most scripts that are cached: far more than the models of one configuration. */
const MAX_SCRIPTS = 100

/** The most characters of a cached name. Real names are shorter. */
const MAX_LENGTH = 1000

/**
 * An empty cache of scripts by the name of the simulated model, which is the text of the script: parsing it costs more than most responses.
 *
 * Invalid names are not cached: they fail every call anyway. The limits are there because a prompt may contain any name.
 */
export const scriptCache = (): ScriptCache => {
  const known = new Map<string, Result.Result<Script, Syntax.NotUnderstood>>()
  return (name) => {
    const script = known.get(name)
    if (script !== undefined) return script
    const read = Syntax.parse(name)
    if (Result.isSuccess(read) && name.length <= MAX_LENGTH) {
      if (known.size >= MAX_SCRIPTS) known.clear()
      known.set(name, read)
    }
    return read
  }
}
