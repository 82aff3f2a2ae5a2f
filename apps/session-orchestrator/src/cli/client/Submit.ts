/**
 * `holdfast submit`: leaves turns to a running service, and prints their ids.
 *
 * Every prompt is read and checked before the first is sent. Standard output has the ids alone, in the order of the file; with `--json`
 * an object a line. A prompt that the service refuses is reported with its line, and the others are submitted all the same. A service
 * that is gone ends the command: the same command again submits what is missing.
 */
import { defined, Labels } from "@holdfast/wire"
import type { WorkGroup } from "@holdfast/wire/api"
import { Effect, Schema, Stream } from "effect"
import * as NewId from "../../storage/NewId.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, ExitCode, Refused } from "../Ended.ts"
import * as RunInput from "../RunInput.ts"
import { note, paint, Terminal, writeJson } from "../terminal/Terminal.ts"
import * as PromptFile from "./PromptFile.ts"
import * as RunningService from "./RunningService.ts"

const options = {
  prompt: RunInput.prompt,
  each: Declaration.text(
    "each",
    "FILE",
    "Submit each line of a file (- for standard input): a prompt, or JSON with prompt, id, model, system, tools, retry, title, metadata, tags, webhook"
  ),
  again: Declaration.toggle("again", "With --each: submit lines without an id anew, though they were submitted before"),
  id: Declaration.parsed("id", "ID", "The turn's id: the same one again is the same turn", Declaration.TURN),
  attach: RunInput.attach,
  model: RunningService.modelFlag,
  profile: Declaration.profile("Retry profile instead of the service's own"),
  ...RunInput.system,
  tag: Declaration.texts("tag", "TAG", "Tag to find the turns by; may be repeated", Declaration.TAG),
  json: Declaration.toggle("json", "Print one JSON object a line: turnId, conversationId, isNew")
}

/** The command `holdfast submit`. */
export const command = RunningService.command(
  {
    name: "submit",
    does: "Leave turns to the running service and print their ids. It runs them with no client attached, however long a provider is down",
    short: "Leave turns to the running service",
    options,
    examples: {
      'holdfast submit "Summarise the failures of last week."': "Prints the turn's id",
      "holdfast submit --each prompts.txt": "One turn a line; the same file again adds nothing",
      "git diff | holdfast submit --id review-42": "With an id of your own"
    }
  },
  (given, client, server) =>
    Effect.flatMap(readEntries(given, server), (entries) => submitAll(client, entries, given.json))
)

// --- internal

/** Turns handed in at once: enough that their commits are shared. */
const AT_ONCE = 16

/** Refusals that concern one prompt; any other would meet the next prompt too. */
const OF_ONE: ReadonlySet<number> = new Set([400, 409, 413])

const readEntries = Effect.fnUntraced(function* (
  given: Declaration.Given<typeof options>,
  limits: { readonly maxFileBytes: number }
) {
  const { again, attach, each: file, id, model, profile } = given
  const system = yield* RunInput.readSystem(given)
  const tags = yield* Effect.mapError(Schema.decodeUnknownEffect(Labels.Tags)(given.tag), ({ message }) =>
    Refused.usage(`--tag: ${message}`)
  )
  const shared: PromptFile.SharedFields = {
    ...(tags.length === 0 ? {} : { tags }),
    ...defined({ model, system, retry: profile && { profile } })
  }
  if (file === undefined) {
    const text = yield* RunInput.readPrompt(given.prompt, "submit")
    const prompt = yield* RunInput.addFiles(text, attach, limits)
    // One made here: should the answer get lost, the next try is the same turn.
    const turnId = id ?? NewId.turn()
    return [{ line: undefined, turn: { ...shared, prompt, turnId } }]
  }
  if (given.prompt !== undefined || id !== undefined) {
    return yield* Refused.usage("--each gives the prompts and their ids. Leave out the prompt and --id.")
  }
  if (attach.length > 0) {
    return yield* Refused.usage(
      "--each and --attach exclude each other. A JSON line may have files: its prompt is a list then."
    )
  }
  const salt = again ? globalThis.crypto.randomUUID() : ""
  const text = yield* file === "-" ? RunInput.stdin : RunInput.readFile("--each", file)
  const entries = PromptFile.parse(text, file === "-" ? "Standard input" : file, shared, salt)
  return yield* Effect.mapError(Effect.fromResult(entries), Refused.usage)
})

interface Entry {
  /** Of a file, counted from 1. */
  readonly line: number | undefined
  readonly turn: WorkGroup.SubmitTurn
}

const submitAll = Effect.fnUntraced(function* (
  client: RunningService.ServiceClient,
  entries: ReadonlyArray<Entry>,
  isJson: boolean
) {
  const terminal = yield* Terminal
  const progress = progressOn(terminal, entries.length)
  let done = 0
  let known = 0
  let failed = 0
  const outcomes = Stream.fromIterable(entries).pipe(
    Stream.mapEffect(
      ({ line, turn: { prompt, ...options } }) =>
        client.submit(prompt, options).pipe(
          Effect.map(({ conversationId, id, isNew }) => ({ turnId: id, conversationId, isNew })),
          Effect.catchIf(
            ({ status }) => OF_ONE.has(status ?? 0),
            (refusal) => Effect.succeed({ line, refusal })
          )
        ),
      { concurrency: AT_ONCE }
    )
  )
  yield* Stream.runForEach(outcomes, (outcome) =>
    Effect.sync(() => {
      progress()
      done++
      if ("refusal" in outcome) {
        failed++
        const { line } = outcome
        const where = line === undefined ? "" : `line ${line}: `
        note(terminal, "red", Prose.plain(`${where}${RunningService.wordsOf(outcome.refusal)}`))
      } else {
        if (!outcome.isNew) known++
        if (isJson) writeJson(terminal, outcome)
        else terminal.stdout(`${outcome.turnId}\n`)
      }
      progress(done)
    })
  ).pipe(
    Effect.ensuring(Effect.sync(() => progress())),
    Effect.mapError((error) => {
      const message = RunningService.wordsOf(error)
      const rest = `${done - failed} of ${entries.length} are submitted; the same command again submits the rest.`
      return Refused.failed(done === 0 ? message : `${message} ${rest}`)
    })
  )
  if (known > 0) note(terminal, "dim", knownText(known, entries.length))
  yield* Ended.by(failed > 0 ? ExitCode.FAILED : ExitCode.COMPLETED)
})

/**
 * On a terminal, how many turns have been submitted: one line that is repainted. Without a count the line is taken away, before something else is
 * written.
 */
const progressOn = (terminal: Terminal["Service"], total: number) => {
  // Ids on a terminal show the progress themselves.
  const isShown = terminal.isStderrTerminal && !terminal.isStdoutTerminal && total > 1
  return (count?: number): void => {
    const line = count === undefined ? "" : `${count} of ${total} submitted`
    if (isShown) terminal.stderr(`\r\u001b[J${paint(terminal.colors.stderr, "dim", line)}`)
  }
}

const knownText = (known: number, all: number): string => {
  if (all === 1) return "It had been submitted before."
  const which = known < all ? `${known} of ${all}` : all === 2 ? "Both" : `All ${all}`
  return `${which} had been submitted before.`
}
