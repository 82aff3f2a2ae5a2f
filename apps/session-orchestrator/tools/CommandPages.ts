/** Makes the tables of commands in docs/api.md and docs/rpc.md from the table that the program is made from. Pure. */
import { Commands } from "@holdfast/wire"

/** docs/api.md with its table as it is now. */
export const ofApi = (page: string): string =>
  withTable(page, [
    "| a conversation's commands | do |",
    "|---|---|",
    ...[...Commands.names("steering"), ...Commands.names("abort"), ...Commands.names("setting")].map((name) => {
      const [method, path] = Commands.routeOf(name)
      const keys = Object.entries(Commands.rowOf(name).fields).map(([field, type]) => field + markOf(type))
      const body = keys.length === 0 ? "" : ` \`{${keys.join(", ")}}\``
      return `| \`${method} …/${path}\`${body} | ${phraseOf(name)} |`
    }),
    "| `PUT …/title` `{title}` | sets its title |"
  ])

/** docs/rpc.md with its table as it is now. */
export const ofLines = (page: string): string =>
  withTable(page, [
    "| command | keys | does | `data` |",
    "|---|---|---|---|",
    ...Commands.names().map((name) => {
      const { fields, kind } = Commands.rowOf(name)
      const own = Object.entries(fields).map(([field, type]) => `\`${field}\`${markOf(type)}`)
      const keys = [...own, ...(kind === "steering" ? ["`commandId`?"] : [])].join(", ")
      return `| \`${Commands.snake(name)}\` | ${keys} | ${shortOf(name)} | ${DATA[kind]} |`
    }),
    "| `get_state` | | reads the conversation's state | below |"
  ])

// --- internal

const DATA: Readonly<Record<Commands.CommandKind, string>> = {
  turn: "`turnId`",
  abort: "`applied`",
  steering: "`applied`",
  setting: ""
}

const markOf = (type: string): string => (type.endsWith("?") ? "?" : "")

/** The summary and the description as the rest of a sentence about the command. */
const phraseOf = (name: Commands.Name): string => {
  const { does, summary } = Commands.rowOf(name)
  return (summary === undefined ? "" : `${lower(summary)}: `) + lower(does).replace(/\.$/, "")
}

/** The summary, where there is one: docs/api.md has the rest. */
const shortOf = (name: Commands.Name): string => {
  const { does, summary = does } = Commands.rowOf(name)
  return lower(summary).replace(/\.$/, "")
}

const lower = (text: string): string => text.replace(/^./, (first) => first.toLowerCase())

const BEGIN = "<!-- commands -->"
const END = "<!-- end of commands -->"

const withTable = (page: string, rows: ReadonlyArray<string>): string => {
  const [before, rest = ""] = page.split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error(`a page has no ${BEGIN} … ${END}`)
  return `${before}${BEGIN}\n\n${rows.join("\n").replaceAll("|  |", "| |")}\n\n${END}${after}`
}
