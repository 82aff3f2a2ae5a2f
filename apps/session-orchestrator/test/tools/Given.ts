/** Configurations of tool servers for tests, and the path of the unruly server. */
import { Duration, Redacted } from "effect"
import { createRequire } from "node:module"
import * as path from "node:path"
import type { ToolServer } from "../../src/config/Config.ts"

/** The whole configuration of a server. */
export const server = (name: string, given: Partial<ToolServer> = {}): ToolServer => ({
  name,
  reach: { type: "stdio", command: process.execPath, args: [UNRULY], env: {}, cwd: undefined },
  timeout: Duration.seconds(60),
  startTimeout: Duration.seconds(30),
  isRequired: false,
  maxOutput: 65_536,
  idempotent: [],
  allow: undefined,
  deny: [],
  secrets: [],
  ...given
})

export const UNRULY = path.join(import.meta.dirname, "UnrulyServer.ts")

/** The unruly server, in some of its modes, as a configuration file has it. */
export const unrulyEntry = (...modes: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [UNRULY, ...modes]
})

/** The same, resolved. */
export const unruly = (
  modes: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): ToolServer["reach"] => ({
  type: "stdio",
  ...unrulyEntry(...modes),
  env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.make(value)])),
  cwd: undefined
})

/** The program of MCP's own server for tests of clients, from the registry. */
export const EVERYTHING = path.join(
  path.dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js"
)

/** A tool call of a model. */
export const call = (toolName: string, input: { readonly [key: string]: string | number | boolean } = {}) =>
  ({ type: "tool-call", toolCallId: `call-${toolName}`, toolName, input }) as const
