/**
 * The table of commands on a conversation: each is declared here, once.
 *
 * The calls of HTTP, the lines of `holdfast rpc`, the messages of sockets and between runners, the methods of clients, the rows of
 * docs/api.md and docs/rpc.md, and the metrics are derived from it. It has no schemas, so a page that uses the client loads none;
 * `Command` has those of its fields.
 */

/**
 * - `turn`: begins a turn, and is answered with its id. `TurnsGroup` has its call.
 * - `abort`: ends a turn, and is answered with whether there was one.
 * - `setting`: changes the conversation.
 * - `steering`: steers a turn that waits, and is answered with whether one did. A repeated `commandId` marks the same command: it has no
 *   second effect, not even on a later wait (X4).
 */
export type CommandKind = "turn" | "abort" | "setting" | "steering"

/** The fields of a command; those that may be absent end in `?`. */
export type FieldType =
  | "prompt"
  | "turnId"
  | "enabled"
  | "model"
  | "toolAnswers"
  | "moment"
  | "extension"
  | "toolCallId"
  | "approve"
  | "reason"
  | "always"

interface Row {
  readonly kind: CommandKind
  readonly fields: Readonly<Record<string, FieldType | `${FieldType}?`>>
  /** The end of its path; by default its name, that of a setting without `set-`. */
  readonly path?: string
  /** The name of its body in `/openapi.json`; by default its name. */
  readonly body?: string
  /** For one turn alone: it cannot be given to all turns of a filter. */
  readonly isForOne?: true
  readonly summary?: string
  /** One sentence or two. */
  readonly does: string
  /** What holds once it is answered. */
  readonly done?: string
  /** Bodies; the first one is shown with a `commandId` too, where the command has one. */
  readonly examples?: ReadonlyArray<object>
}

/** The commands, by the names of the clients' methods. */
export const commands = {
  /** Runs a turn. A repeated `turnId` is the same turn. */
  prompt: {
    kind: "turn",
    fields: { prompt: "prompt", turnId: "turnId?" },
    path: "turns",
    does: "Runs a turn. On a busy conversation it is queued."
  },
  /** Runs the model again from the last user message (M1). */
  retry: {
    kind: "turn",
    fields: { turnId: "turnId?" },
    does: "After an error or an abort: answers the last prompt again, without the failed response."
  },
  /** Ends the retries first, then the turn that runs (P14); with a `turnId` this turn alone, which may be queued. */
  abort: {
    kind: "abort",
    fields: { turnId: "turnId?" },
    summary: "End its turn",
    does: "Ends the wait first, then the turn, which seals `aborted`. With a `turnId` it ends this turn and no other; a queued turn does not run.",
    done: "The turn is ended, which is on disk; or there was none."
  },
  /** Switches automatic retries, from the next failure on (P15). */
  setAutoRetry: {
    kind: "setting",
    fields: { enabled: "enabled" },
    body: "AutoRetry",
    summary: "Switch automatic retries",
    does: "Takes effect from the next failure on.",
    done: "It is set.",
    examples: [{ enabled: false }]
  },
  /** Changes its model to this `provider/model`, for turns that are accepted from now on. */
  setModel: {
    kind: "setting",
    fields: { model: "model" },
    summary: "Change its model",
    does: "Turns that are accepted from now on run on this model. Those that were accepted before keep theirs; `switch-target` moves a turn that waits.",
    done: "It is set.",
    examples: [{ model: "anthropic/claude-sonnet-4-5" }]
  },
  /** Replaces the answers that hold for every call of a tool, by its name; `{}`: a person is asked about each call again. */
  setToolAnswers: {
    kind: "setting",
    fields: { toolAnswers: "toolAnswers" },
    summary: "Set the answers that always hold",
    does: "Replaces what was answered with `always`, by tool: its calls run, or are refused, without a question. `{}` asks about each call again.",
    done: "They are set.",
    examples: [{ toolAnswers: { read_file: "approve", delete_file: "refuse" } }]
  },
  /** Gives up: ends the wait, and the turn with its last error (P14, X4). */
  abortRetry: {
    kind: "steering",
    fields: {},
    summary: "Give up waiting",
    does: "Ends the wait, and the turn with its last error.",
    done: "The wait is ended, or there was none."
  },
  /** Ends the wait and makes the next attempt (X4). */
  retryNow: {
    kind: "steering",
    fields: {},
    summary: "Try again now",
    does: "Ends the wait and makes the next attempt at once.",
    done: "The next attempt is made, or there was no wait."
  },
  /** Moves the end of the wait: a date, or epoch milliseconds (X4). */
  waitUntil: {
    kind: "steering",
    fields: { until: "moment" },
    summary: "Wait until a time",
    does: "Moves the end of the wait.",
    done: "The wait ends at that time, or there was no wait.",
    examples: [{ until: 1_901_232_000_000 }]
  },
  /** Ends the wait; the rest of the turn runs on this `provider/model` (X4). */
  switchTarget: {
    kind: "steering",
    fields: { model: "model" },
    summary: "Continue on another model",
    does: "Ends the wait; the rest of the turn runs on this model.",
    done: "The next attempt uses this model, or there was no wait.",
    examples: [{ model: "anthropic/claude-sonnet-4-5" }]
  },
  /** Adds milliseconds to the budget of the step that waits (X4). */
  extendBudget: {
    kind: "steering",
    fields: { byMs: "extension" },
    summary: "Extend the budget",
    does: "Adds to the time that the waiting step may spend on waits.",
    done: "The budget of the waiting step is extended, or no turn waits.",
    examples: [{ byMs: 7_200_000 }]
  },
  /** Approves or refuses a tool call that waits for a person. */
  answerTool: {
    kind: "steering",
    fields: { toolCallId: "toolCallId", approve: "approve", reason: "reason?", always: "always?" },
    isForOne: true,
    summary: "Approve or refuse a tool call",
    does: "Answers a question about one tool call. The calls of a response run when each has its answer.",
    done: "The call is answered, or does not wait for an answer.",
    examples: [
      { toolCallId: "call_1", approve: true },
      { toolCallId: "call_1", approve: false, reason: "Not before the backup has run." },
      { toolCallId: "call_1", approve: true, always: true }
    ]
  }
} as const satisfies Readonly<Record<string, Row>>

type Commands = typeof commands

/** The name of a command. */
export type Name = keyof Commands

/** The fields of a command, with their types. */
export type FieldTypes<N extends Name> = Commands[N]["fields"]

/** The names of the commands of some kinds. */
export type NameOf<K extends CommandKind> = { [N in Name]: Commands[N]["kind"] extends K ? N : never }[Name]

/** A name as its words, with a sign between them. */
type Separated<Text extends string, Sign extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `${Sign}${Lowercase<First>}`}${Separated<Rest, Sign>}`
  : ""

/** `retry-now`: the type of a command inside the service. */
export type Kebab<N extends string> = Separated<N, "-">
/** `retry_now`: the type of a command in lines and messages. */
export type Snake<N extends string> = Separated<N, "_">

/** `retry-now` */
export const kebab = <N extends string>(name: N): Kebab<N> => separated(name, "-") as Kebab<N>
/** `retry_now` */
export const snake = <N extends string>(name: N): Snake<N> => separated(name, "_") as Snake<N>

/** The command's row. */
export const rowOf: (name: Name) => Row = (name) => commands[name]

/** Whether a command has fields of its own that must be given. */
export const hasFields = (name: Name): boolean =>
  Object.values(commands[name].fields).some((type) => !type.endsWith("?"))

/** The names of all commands, or of those of one kind, in the order of the table. */
export const names = <K extends CommandKind = CommandKind>(kind?: K): ReadonlyArray<NameOf<K>> =>
  (Object.keys(commands) as Array<NameOf<K>>).filter((name) => kind === undefined || rowOf(name).kind === kind)

/** The method and the end of the path of its call. */
export const routeOf = (name: Name): readonly [method: "POST" | "PUT", path: string] => {
  const { kind, path = kebab(name) } = rowOf(name)
  return kind === "setting" ? ["PUT", path.replace("set-", "")] : ["POST", path]
}

// --- internal

const separated = (name: string, sign: string): string =>
  name.replace(/[A-Z]/g, (letter) => sign + letter.toLowerCase())
