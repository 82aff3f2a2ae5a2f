import { assert, describe, it } from "@effect/vitest"
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

const ROW = `  shortenWaits: {
    kind: "steering",
    fields: { toMs: "extension" },
    summary: "Shorten the waits",
    does: "Makes the waits of the step no longer than this.",
    done: "They are shorter, or no turn waits.",
    examples: [{ toMs: 60_000 }]
  },
`

/** Copies wire and the client, adds a row to the table of commands, and does nothing else. */
const withRow = async (test: (folder: string) => Promise<void>): Promise<void> => {
  // Inside of the repository, so that the packages that the copy imports are found.
  const folder = mkdtempSync(join(root, "tools/.new-command-"))
  try {
    for (const name of ["wire", "client"])
      cpSync(join(root, "packages", name, "src"), join(folder, name), { recursive: true })
    for (const file of globSync("client/**/*.ts", { cwd: folder })) {
      const text = readFileSync(join(folder, file), "utf8")
      writeFileSync(join(folder, file), text.replaceAll('"@holdfast/wire"', `"${folder}/wire/index.ts"`))
    }
    const table = join(folder, "wire/Commands.ts")
    writeFileSync(table, readFileSync(table, "utf8").replace("  /** Approves or refuses a tool call", `${ROW}$&`))
    await test(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("a new command", () => {
  // Where its effect belongs, an exhaustive switch does not compile: `orchestrator/Commands.decode`, and no other place.
  it("is one row of the table: calls, lines, messages, clients and pages follow", () =>
    withRow(async (folder) => {
      const { Api } = await import(join(folder, "wire/api/index.ts"))
      const { OpenApi } = await import("effect/http-api")
      const { components, paths } = OpenApi.fromApi(Api.Api)
      const call = paths["/v1/conversations/{conversationId}/shorten-waits"]?.post
      assert.strictEqual(call?.summary, "Shorten the waits")
      assert.hasAllKeys(Object(components.schemas["ShortenWaits"]).properties, ["toMs", "commandId"])
      assert.include(JSON.stringify(components.schemas["RunBulk"]), '"shorten-waits"')

      const { RpcLines, SocketMessages } = await import(join(folder, "wire/rpc/index.ts"))
      const line = { type: "shorten_waits", toMs: 60_000, commandId: "k1" }
      assert.deepStrictEqual(RpcLines.decode(JSON.stringify(line)).success, line)
      const message = { ...line, id: 1, conversationId: "c1" }
      assert.deepStrictEqual(SocketMessages.decode(JSON.stringify(message)).success, message)

      const sent: Array<readonly [method: string, url: string, body: unknown]> = []
      const { HoldfastClient } = await import(join(folder, "client/index.ts"))
      const fetch = async (url: string, { body, method }: { readonly body: string; readonly method: string }) => {
        sent.push([method, url, JSON.parse(body)])
        return new Response(null, { status: 202 })
      }
      const client = new HoldfastClient({ url: "http://service", fetch })
      await client.conversation("c1").shortenWaits(60_000, { commandId: "k1" })
      const path = "http://service/v1/conversations/c1/shorten-waits"
      assert.deepStrictEqual(sent, [["POST", path, { toMs: 60_000, commandId: "k1" }]])
    }))
})
