import { expect, it, vi } from "vitest"
import { QueryClient } from "@tanstack/react-query"

/** The answers of a service, by paths and what is asked for. */
const answers = new Map<string, unknown>()

vi.stubGlobal("location", { origin: "http://127.0.0.1:4747" })
vi.stubGlobal("fetch", async (input: string) => {
  const { pathname, searchParams } = new URL(input)
  const filter = searchParams.has("busy") ? "?busy" : searchParams.has("ids") ? `?ids=${searchParams.get("ids")}` : ""
  return Response.json(answers.get(pathname + filter) ?? expect.fail(`${pathname}${filter} was asked for`))
})
const Conversations = await import("../../src/list/useConversations.ts")

const conversation = (n: number, more: object = {}) => ({
  conversationId: `c_${n}`,
  model: "a/m",
  createdAt: n,
  lastTurnId: `t_${n}`,
  isBusy: false,
  ...more
})

const turn = (n: number, of: number, more: object) => ({
  turnId: `t_${n}`,
  conversationId: `c_${of}`,
  model: "a/m",
  acceptedAt: n,
  attempts: 1,
  ...more
})

const listed = async () => {
  const { entries } = await new QueryClient().fetchQuery(Conversations.list(Conversations.FIRST))
  return entries.map(({ conversation, turn }) => [conversation.conversationId, turn?.status])
}

it("a conversation that waits is on top and says so, whatever was opened since and is queued behind it", async () => {
  const wait = { retry: 0, since: 1, retryAt: 9_000 }
  const newer = Array.from({ length: 60 }, (_, n) => conversation(160 - n))
  const old = conversation(1, { isBusy: true, lastTurnId: "t_99" })
  answers.set("/v1/conversations", { conversations: newer })
  answers.set("/v1/conversations?busy", { conversations: [old] })
  // The turn that waits is older than all that the list of turns has.
  const done = newer.map(({ createdAt }) =>
    turn(createdAt, createdAt, { status: "completed", endedAt: createdAt + 500 })
  )
  answers.set("/v1/turns", { turns: [...done, turn(99, 1, { status: "queued" })] })
  answers.set("/v1/conversations/c_1", { conversationId: "c_1", turnId: "t_1", status: "retrying" })
  answers.set("/v1/turns/t_1", turn(1, 1, { status: "waiting", wait }))
  const found = await listed()
  expect(found).toHaveLength(Conversations.PAGE)
  expect(found.slice(0, 2)).toEqual([
    ["c_1", "waiting"],
    ["c_160", "completed"]
  ])
})

it("a conversation whose turn has just ended is before those that were opened since, however many they are", async () => {
  answers.set("/v1/conversations", { conversations: Array.from({ length: 60 }, (_, n) => conversation(160 - n)) })
  answers.set("/v1/conversations?busy", { conversations: [] })
  const call = turn(171, 1, { conversationId: "holdfast-call-1", status: "completed", endedAt: 903 })
  const ended = [2, 3].map((n) => turn(170 - n, n, { status: "completed", endedAt: 900 + n }))
  answers.set("/v1/turns", { turns: [call, ...ended] })
  const old = [3, 2].map((n) => conversation(n, { lastTurnId: `t_${170 - n}` }))
  answers.set("/v1/conversations?ids=c_2,c_3", { conversations: old })
  for (let n = 101; n <= 160; n++) answers.set(`/v1/turns/t_${n}`, turn(n, n, { status: "completed", endedAt: n }))
  expect((await listed()).slice(0, 3).map(([id]) => id)).toEqual(["c_3", "c_2", "c_160"])
})
