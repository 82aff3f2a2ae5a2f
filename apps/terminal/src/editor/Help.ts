/** The text of `/help`: keys, and all commands. */
import { COMMANDS } from "./Command.ts"

/** Its lines. */
export const TEXT = [
  "Keys",
  "  Enter             send; on an empty line after an error or an abort: ask again",
  "  Alt-Enter, Ctrl-J new line (Shift-Enter where the terminal has it, or \\ and Enter)",
  "  Esc               cancel the retry, abort the turn, or clear the line",
  "  Up, Down          within the text, then earlier prompts",
  "  Tab               complete a command",
  "  Ctrl-D, Ctrl-C    leave; a turn that runs or waits goes on",
  "",
  "Commands",
  ...COMMANDS.map(({ does, usage }) => `  ${usage.padEnd(24)} ${does}`)
].join("\n")
