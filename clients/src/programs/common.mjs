/** What the programs over SDKs share: their arguments, the tool that runs a command, and an abort by SIGINT. */
import { execSync } from "node:child_process"

export const [mode, kind, prompt] = process.argv.slice(2)
export const baseURL = process.env.BASE_URL
export const apiKey = process.env.API_KEY

const controller = new AbortController()
process.once("SIGINT", () => controller.abort())

/** Ends with SIGINT. */
export const { signal } = controller

/** The tool: runs a command, and returns what it printed. */
export const tool = {
  name: "shell",
  description: "Runs a command.",
  schema: {
    type: "object",
    properties: { command: { type: "string" } },
    required: ["command"],
    additionalProperties: false
  },
  run: ({ command }) => execSync(command, { encoding: "utf8" })
}

/** Prints pieces of the answer as they come. */
export const print = (text) => process.stdout.write(text)

/** Runs a program. After an abort its error is the expected end. */
export const run = async (program) => {
  try {
    await program()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
