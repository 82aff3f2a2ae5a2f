/** Reads the commands that begin with `/`. Pure. */

/** A command with its arguments, checked as far as that is possible here. */
export type SlashCommand =
  | {
      readonly type:
        | "retry"
        | "now"
        | "giveup"
        | "forget"
        | "explain"
        | "error"
        | "conversations"
        | "new"
        | "help"
        | "quit"
    }
  | { readonly type: "wait"; readonly until: number }
  | { readonly type: "switch"; readonly model: string }
  | { readonly type: "extend"; readonly byMs: number }
  | { readonly type: "auto"; readonly enabled: boolean }
  /** Of the first tool call that waits for a person, of all of them, or of each call of its tool in the conversation. */
  | { readonly type: "approve"; readonly of: "first" | "all" | "always" }
  | { readonly type: "refuse"; readonly of: "first" | "always"; readonly reason: string | undefined }
  | { readonly type: "report"; readonly since: number | undefined }

/** A command, or why it is none. */
type Read =
  | { readonly _tag: "Command"; readonly command: SlashCommand }
  | { readonly _tag: "Mistake"; readonly message: string }

/** One row of the help: the command, and what it does. */
export const COMMANDS: ReadonlyArray<{ readonly name: string; readonly usage: string; readonly does: string }> = [
  { name: "retry", usage: "/retry", does: "ask the model again, after an error or an abort" },
  { name: "now", usage: "/now", does: "end the wait and try at once" },
  { name: "wait", usage: "/wait 30m | 14:30", does: "move the end of the wait" },
  { name: "switch", usage: "/switch provider/model", does: "go on with another model" },
  { name: "giveup", usage: "/giveup", does: "end the wait, and the turn with its last error" },
  { name: "extend", usage: "/extend 2h", does: "allow more time for waits" },
  {
    name: "approve",
    usage: "/approve | all | always",
    does: "run the tool call that waits for you, all of them, or its tool always"
  },
  { name: "refuse", usage: "/refuse why | always", does: "do not run it; the model gets the reason" },
  { name: "forget", usage: "/forget", does: "ask again about the tools that you answered with always" },
  { name: "auto", usage: "/auto on | off", does: "switch automatic retries" },
  { name: "error", usage: "/error", does: "show the last error, word for word" },
  { name: "explain", usage: "/explain", does: "show every decision of the turn" },
  { name: "report", usage: "/report 12h", does: "show what happened since" },
  { name: "conversations", usage: "/conversations", does: "list conversations, and go on with one" },
  { name: "new", usage: "/new", does: "begin another conversation" },
  { name: "help", usage: "/help", does: "show keys and commands" },
  { name: "quit", usage: "/quit", does: "leave; a turn that runs or waits goes on" }
]

/**
 * Reads a line that begins with `/`.
 *
 * @param now the present, which times of day and durations refer to
 */
export const read = (line: string, now: Date): Read => {
  const [, word = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim()) ?? []
  const argument = rest.trim()
  const name = ALIASES[word] ?? word
  const known = COMMANDS.find((entry) => entry.name === name)
  if (known === undefined) {
    return mistake(
      `There is no command /${word}. /help lists them. A text that begins with / is sent with a blank before it.`
    )
  }
  switch (name) {
    case "wait": {
      const until = momentOf(argument, now)
      return until === undefined
        ? mistake("/wait: expected a duration such as 30m, a time such as 14:30, or a date such as 2031-04-01T07:00Z.")
        : command({ type: "wait", until })
    }
    case "extend": {
      const byMs = durationOf(argument)
      return byMs === undefined || byMs <= 0
        ? mistake("/extend: expected a duration such as 2h or 90m.")
        : command({ type: "extend", byMs })
    }
    case "switch":
      return /^[^\s/]+\/\S+$/.test(argument)
        ? command({ type: "switch", model: argument })
        : mistake("/switch: expected provider/model, such as openai/gpt-5.")
    case "auto":
      return argument === "on" || argument === "off"
        ? command({ type: "auto", enabled: argument === "on" })
        : mistake("/auto: expected on or off.")
    case "approve":
      return argument === "" || argument === "all" || argument === "always"
        ? command({ type: "approve", of: argument === "" ? "first" : argument })
        : mistake("/approve: expected nothing, all, or always.")
    case "refuse":
      return argument === "always"
        ? command({ type: "refuse", of: "always", reason: undefined })
        : command({ type: "refuse", of: "first", reason: argument === "" ? undefined : argument })
    case "report": {
      const length = argument === "" ? undefined : durationOf(argument)
      if (argument !== "" && length === undefined)
        return mistake("/report: expected a duration such as 12h, or nothing.")
      return command({ type: "report", since: length === undefined ? undefined : now.getTime() - length })
    }
    default:
      return argument === "" ? command({ type: known.name as SimpleName }) : mistake(`/${name} takes no argument.`)
  }
}

/** The commands that a beginning may become. */
export const completions = (text: string): ReadonlyArray<(typeof COMMANDS)[number]> =>
  /^\/\S*$/.test(text) ? COMMANDS.filter(({ name }) => name.startsWith(text.slice(1))) : []

/** Milliseconds of `1h30m`, `90s` or `2d`; `undefined` for any other text. */
export const durationOf = (text: string): number | undefined => {
  const compact = text.replaceAll(/\s+/g, "")
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:d|h|m|s))+$/.test(compact)) return undefined
  return Array.from(compact.matchAll(/([\d.]+)([dhms])/g)).reduce(
    (sum, [, number = "0", unit = "s"]) => sum + Number(number) * (UNITS[unit] ?? 0),
    0
  )
}

// --- internal

type SimpleName = Extract<SlashCommand, { readonly type: "retry" | "help" }>["type"]

const ALIASES: { readonly [word: string]: string | undefined } = {
  sessions: "conversations",
  resume: "conversations",
  exit: "quit",
  leave: "quit",
  model: "switch",
  "give-up": "giveup"
}

const UNITS: { readonly [unit: string]: number | undefined } = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }

const command = (command: SlashCommand): Read => ({ _tag: "Command", command })

const mistake = (message: string): Read => ({ _tag: "Mistake", message })

/** A duration from now, the next time of day, or a date. */
const momentOf = (text: string, now: Date): number | undefined => {
  const length = durationOf(text)
  if (length !== undefined) return now.getTime() + length
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? []
  if (hours !== undefined && minutes !== undefined) {
    if (Number(hours) > 23 || Number(minutes) > 59) return undefined
    const time = new Date(now)
    time.setHours(Number(hours), Number(minutes), 0, 0)
    if (time <= now) time.setDate(time.getDate() + 1)
    return time.getTime()
  }
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : date
}
