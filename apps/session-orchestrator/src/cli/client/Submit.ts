/**
 * `holdfast submit`: leaves turns to a running service, and prints their ids.
 *
 * Every prompt is read and checked before the first is sent. Standard output has the ids alone, in the order of the file; with `--json`
 * an object a line. A prompt that the service refuses is reported with its line, and the others are submitted all the same. A service
 * that is gone ends the command: the same command again submits what is missing.
 */
import { RetrySettings } from "@holdfast/policy"
import { Ids, Labels } from "@holdfast/wire"
import type { WorkGroup } from "@holdfast/wire/api"
import { Effect, FileSystem, Option, Result, Schema, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as OrderedId from "../../storage/OrderedId.ts"
import * as Prose from "../../text/Prose.ts"
import { Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as RunInput from "../RunInput.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as Attachments from "../Attachments.ts"
import * as PromptFile from "./PromptFile.ts"
import * as Service from "./Service.ts"

/** The command `holdfast submit`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "submit",
    {
      prompt: Argument.String("prompt").pipe(
        Argument.withDescription("What to ask; - or nothing reads it from standard input"),
        Argument.optional
      ),
      each: Flag.String("each").pipe(
        Flag.withMetavar("FILE"),
        Flag.withDescription(
          "Submit each line of a file (- for standard input): a prompt, or JSON with prompt, id, model, system, tools, retry, title, metadata, tags, webhook"
        ),
        Flag.optional
      ),
      again: Flag.Boolean("again").pipe(
        Flag.withDescription("With --each: submit lines without an id anew, though they were submitted before"),
        Flag.withDefault(false)
      ),
      id: Flag.String("id").pipe(
        Flag.withMetavar("ID"),
        Flag.withDescription("The turn's id: the same one again is the same turn"),
        Flag.optional
      ),
      attach: Attachments.flag,
      model: Service.modelFlag,
      profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
        Flag.withDescription("Retry profile instead of the service's own"),
        Flag.optional
      ),
      system: RunInput.flags.system,
      systemFile: RunInput.flags.systemFile,
      tag: Flag.String("tag").pipe(
        Flag.withMetavar("TAG"),
        Flag.withDescription("Tag to find the turns by; may be repeated"),
        Flag.atLeast(0)
      ),
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print one JSON object a line: turnId, conversationId, isNew"),
        Flag.withDefault(false)
      ),
      ...Service.flags
    },
    (flags) =>
      Service.use(parts, flags, (client, server) =>
        Effect.flatMap(readEntries(flags, server), (entries) => submitAll(client, entries, flags.json))
      )
  ).pipe(
    Command.withDescription(
      "Leave turns to the running service and print their ids. It runs them with no client attached, however long a provider is down"
    ),
    Command.withShortDescription("Leave turns to the running service"),
    Command.withExamples([
      { command: 'holdfast submit "Summarise the failures of last week."', description: "Prints the turn's id" },
      {
        command: "holdfast submit --each prompts.txt",
        description: "One turn a line; the same file again adds nothing"
      },
      { command: "git diff | holdfast submit --id review-42", description: "With an id of your own" }
    ])
  )

// --- internal

interface Flags {
  readonly prompt: Option.Option<string>
  readonly each: Option.Option<string>
  readonly tag: ReadonlyArray<string>
  readonly again: boolean
  readonly id: Option.Option<string>
  readonly attach: ReadonlyArray<string>
  readonly model: Option.Option<string>
  readonly profile: Option.Option<RetrySettings.ProfileName>
  readonly system: Option.Option<string>
  readonly systemFile: Option.Option<string>
}

/** Turns handed in at once: enough that their commits are shared. */
const AT_ONCE = 16

/** Refusals that concern one prompt; any other would meet the next prompt too. */
const OF_ONE: ReadonlySet<number> = new Set([400, 409, 413])

const readEntries = Effect.fnUntraced(function* (flags: Flags, limits: { readonly maxFileBytes: number }) {
  const model = Option.getOrUndefined(flags.model)
  const profile = Option.getOrUndefined(flags.profile)
  const system = yield* RunInput.readSystem(flags)
  const tags = yield* Effect.mapError(
    Schema.decodeUnknownEffect(Labels.Tags)(flags.tag),
    ({ message }) => new Refused({ message: `--tag: ${message}`, exitCode: ExitCode.USAGE })
  )
  const shared: PromptFile.Shared = {
    ...(tags.length === 0 ? {} : { tags }),
    ...(model === undefined ? {} : { model }),
    ...(system === undefined ? {} : { system }),
    ...(profile === undefined ? {} : { retry: { profile } })
  }
  const file = Option.getOrUndefined(flags.each)
  const id = yield* RunInput.idOf("--id", flags.id)
  if (file === undefined) {
    const text = yield* RunInput.readPrompt(Option.getOrUndefined(flags.prompt), "submit")
    const prompt = yield* Attachments.add(text, flags.attach, limits)
    // One made here: should the answer get lost, the next try is the same turn.
    const turnId = Ids.TurnId.make(id ?? OrderedId.next())
    return [{ line: undefined, turn: { ...shared, prompt, turnId } }]
  }
  if (Option.isSome(flags.prompt) || id !== undefined) {
    return yield* refused("--each gives the prompts and their ids. Leave out the prompt and --id.")
  }
  if (flags.attach.length > 0) {
    return yield* refused(
      "--each and --attach exclude each other. A JSON line may have files: its prompt is a list then."
    )
  }
  const salt = flags.again ? globalThis.crypto.randomUUID() : ""
  const entries = PromptFile.parse(yield* readFile(file), file === "-" ? "Standard input" : file, shared, salt)
  return Result.isSuccess(entries) ? entries.success : yield* refused(entries.failure)
})

const readFile = Effect.fnUntraced(function* (file: string) {
  if (file === "-") return yield* Stream.mkString(Stream.decodeText((yield* Stdio.Stdio).stdin))
  return yield* Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(file)).pipe(
    Effect.mapError(({ reason }) => {
      const why = reason._tag === "NotFound" ? "there is no such file" : `it cannot be read (${reason._tag})`
      return new Refused({ message: `--each ${file}: ${why}.`, exitCode: ExitCode.USAGE })
    })
  )
})

interface Entry {
  /** Of a file, counted from 1. */
  readonly line: number | undefined
  readonly turn: WorkGroup.SubmitTurn
}

const submitAll = Effect.fnUntraced(function* (client: Service.Client, entries: ReadonlyArray<Entry>, isJson: boolean) {
  const terminal = yield* Terminal
  const progress = progressOn(terminal, entries.length)
  const note = (color: "red" | "dim", text: string) =>
    terminal.stderr(`${paint(terminal.colors.stderr, color, Prose.plain(text))}\n`)
  let done = 0
  let known = 0
  let failed = 0
  const outcomes = Stream.fromIterable(entries).pipe(
    Stream.mapEffect(
      (entry) => {
        const { prompt, ...options } = entry.turn
        return client.submit(prompt, options).pipe(
          Effect.map(({ conversationId, id, isNew }) => ({ entry, submitted: { turnId: id, conversationId, isNew } })),
          Effect.catchIf(
            ({ status }) => OF_ONE.has(status ?? 0),
            (refusal) => Effect.succeed({ entry, refusal })
          )
        )
      },
      { concurrency: AT_ONCE }
    )
  )
  yield* Stream.runForEach(outcomes, (outcome) =>
    Effect.sync(() => {
      progress.clear()
      done++
      if ("refusal" in outcome) {
        failed++
        const { line } = outcome.entry
        note("red", `${line === undefined ? "" : `line ${line}: `}${Service.wordsOf(outcome.refusal)}`)
      } else {
        if (!outcome.submitted.isNew) known++
        terminal.stdout(`${isJson ? Prose.inJson(JSON.stringify(outcome.submitted)) : outcome.submitted.turnId}\n`)
      }
      progress.done(done)
    })
  ).pipe(
    Effect.ensuring(Effect.sync(progress.clear)),
    Effect.mapError((error) => {
      const message = Service.wordsOf(error)
      const rest = `${done - failed} of ${entries.length} are submitted; the same command again submits the rest.`
      return new Refused({ message: done === 0 ? message : `${message} ${rest}`, exitCode: ExitCode.FAILED })
    })
  )
  if (known > 0) note("dim", knownText(known, entries.length))
  if (failed > 0) return yield* new Ended({ exitCode: ExitCode.FAILED })
})

/** On a terminal, how many turns have been submitted: one line that is repainted. */
const progressOn = (terminal: Terminal["Service"], total: number) => {
  // Ids on a terminal show the progress themselves.
  const isShown = terminal.isStderrTerminal && !terminal.isStdoutTerminal && total > 1
  const erase = () => terminal.stderr("\r\u001b[J")
  return {
    done: (count: number) => {
      if (!isShown) return
      erase()
      terminal.stderr(paint(terminal.colors.stderr, "dim", `${count} of ${total} submitted`))
    },
    /** Takes the line away before something else is written. */
    clear: () => {
      if (isShown) erase()
    }
  }
}

const knownText = (known: number, all: number): string => {
  if (all === 1) return "It had been submitted before."
  const which = known < all ? `${known} of ${all}` : all === 2 ? "Both" : `All ${all}`
  return `${which} had been submitted before.`
}

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))
