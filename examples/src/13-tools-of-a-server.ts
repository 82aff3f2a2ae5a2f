/**
 * The tools of an MCP server in the kernel's toolbox. Here the server is the one for tests of MCP clients, as a child process.
 *
 * Run it: `npx pnpm@12 exec node examples/src/13-tools-of-a-server.ts`
 */
// #region tools
import { ToolServers } from "@holdfast/mcp"
import { EVERYTHING, server } from "@holdfast/mcp/testing"
import { Effect, Redacted } from "effect"

/** Removes a server's secrets from its texts. */
const conceal = (secrets: ReadonlyArray<Redacted.Redacted>) => (text: string) =>
  secrets.reduce((concealed, secret) => concealed.replaceAll(Redacted.value(secret), "[redacted]"), text)

const demo = server("demo", {
  reach: { type: "stdio", command: process.execPath, args: [EVERYTHING], env: {}, cwd: undefined },
  allow: ["echo", "get-sum"]
})

const program = Effect.gen(function* () {
  const { toolbox } = yield* ToolServers.start([demo], conceal)
  const tools = yield* toolbox // waits until the server is up
  console.log(tools.definitions.map(({ name }) => name).join(", ")) // echo, get-sum
  const call = { type: "tool-call", toolCallId: "1", toolName: "echo", input: { message: "Hello" } } as const
  console.log((yield* tools.run(call)).output) // Echo: Hello
})

await Effect.runPromise(Effect.scoped(program))
// #endregion tools
