import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import {
  Api,
  BulkCommands,
  UiMessagesGroup,
  ConversationsGroup,
  DryRunGroup,
  Listing,
  NewConversation,
  Problem,
  SchedulePreview,
  TurnsGroup,
  WorkGroup
} from "../../src/api/index.ts"
import * as Commands from "../../src/Commands.ts"
import * as TurnEvent from "../../src/TurnEvent.ts"

const document = OpenApi.fromApi(Api.Api)

/** Every call as `METHOD path`. */
const calls = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)
)

describe("the calls", () => {
  const ofCommands = Commands.names().map((name) => {
    const [method, path] = Commands.routeOf(name)
    return `${method} /v1/conversations/{conversationId}/${path}`
  })

  it("are these, and one for each command of the table", () => {
    expect(ofCommands.filter((call) => !calls.includes(call))).toEqual([])
    expect(calls.filter((call) => !ofCommands.includes(call)).sort()).toEqual([
      "DELETE /v1/chat/{chatId}",
      "DELETE /v1/conversations/{conversationId}",
      "GET /healthz",
      "GET /metrics",
      "GET /readyz",
      "GET /v1/chat/{chatId}/stream",
      "GET /v1/configuration",
      "GET /v1/conversations",
      "GET /v1/conversations/{conversationId}",
      "GET /v1/conversations/{conversationId}/events",
      "GET /v1/conversations/{conversationId}/messages",
      "GET /v1/conversations/{conversationId}/turns/{turnId}/explain",
      "GET /v1/health",
      "GET /v1/report",
      "GET /v1/turns",
      "GET /v1/turns/{turnId}",
      "GET /v1/turns/{turnId}/events",
      "GET /v1/ws",
      "POST /v1/chat",
      "POST /v1/conversations",
      "POST /v1/dry-run",
      "POST /v1/schedule",
      "POST /v1/spend/raise",
      "POST /v1/turns",
      "POST /v1/turns/commands",
      "POST /v1/turns/courses",
      "POST /v1/turns/{turnId}/abort",
      "PUT /v1/conversations/{conversationId}/title"
    ])
  })

  it("describe their purpose, and return problems where they fail", () => {
    for (const [path, item] of Object.entries(document.paths)) {
      for (const operation of [item.get, item.post, item.put]) {
        if (operation === undefined) continue
        expect([path, operation.summary]).toEqual([path, expect.any(String)])
        for (const [status, { content }] of Object.entries(operation.responses)) {
          if (Number(status) >= 400) expect(Object.keys(content ?? {})).toEqual(["application/problem+json"])
        }
      }
    }
  })

  it("that run a turn return both kinds of stream, and JSON", () => {
    for (const call of ["turns", "retry"]) {
      const answers = document.paths[`/v1/conversations/{conversationId}/${call}`]?.post?.responses[200]?.content
      expect(Object.keys(answers ?? {}).sort()).toEqual([
        "application/json",
        "application/x-ndjson",
        "text/event-stream"
      ])
    }
  })
})

it("rule X15: a turn can be submitted: 202 has its id, and its location in a header", () => {
  for (const call of ["turns", "retry"]) {
    const operation = document.paths[`/v1/conversations/{conversationId}/${call}`]?.post
    expect(operation?.parameters).toContainEqual(
      expect.objectContaining({ in: "header", name: "prefer", required: false })
    )
    expect(operation?.responses[202]).toMatchObject({
      content: { "application/json": { schema: { $ref: "#/components/schemas/TurnAccepted" } } },
      headers: { location: { required: true }, "preference-applied": { required: true } }
    })
  }
})

it("rule X9: the explanation of a turn is available as JSON and as text", () => {
  const path = "/v1/conversations/{conversationId}/turns/{turnId}/explain"
  const answers = document.paths[path]?.get?.responses[200]?.content
  expect(Object.keys(answers ?? {}).sort()).toEqual(["application/json", "text/plain"])
})

describe("the document", () => {
  it("has no dangling reference", () => {
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name
    )
    const names = new Set(Object.keys(document.components.schemas))
    expect(references.filter((name) => name !== undefined && !names.has(name))).toEqual([])
  })

  it("has every problem, by its name", () => {
    const names = Object.values(Problem.problems).map(({ identifier }) => identifier)
    expect(new Set(names).size).toBe(names.length)
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(names))
  })

  it("closes request bodies and leaves responses open", () => {
    const { schemas } = document.components
    expect(schemas["RunTurn"]).toMatchObject({ additionalProperties: false })
    for (const name of ["TurnEvent", "TurnResult", "TurnState", "ConversationState", "NotFoundProblem"]) {
      expect(JSON.stringify(schemas[name])).not.toContain('"additionalProperties":false')
    }
  })

  it("requires the token for every call except the supervisor's", () => {
    expect(document.security).toEqual([{}, { token: [] }])
    expect(document.paths["/healthz"]?.get?.security).toEqual([])
    expect(document.paths["/readyz"]?.get?.security).toBe(undefined)
  })
})

describe("examples", () => {
  it("match their schemas", () => {
    for (const schema of [
      NewConversation.CreateConversation,
      ConversationsGroup.ConversationCreated,
      ConversationsGroup.State,
      ConversationsGroup.Messages,
      ...Object.values(ConversationsGroup.bodies),
      TurnsGroup.RunTurn,
      TurnsGroup.RetryTurn,
      TurnsGroup.TurnResult,
      TurnsGroup.TurnAccepted,
      TurnsGroup.State,
      SchedulePreview.PreviewSchedule,
      SchedulePreview.SchedulePreview,
      WorkGroup.ReadCourses,
      WorkGroup.Courses,
      WorkGroup.SubmitTurn,
      UiMessagesGroup.SendUiMessages,
      WorkGroup.TurnSubmitted,
      BulkCommands.RunBulk,
      BulkCommands.BulkReport,
      Listing.TurnPage,
      Listing.ConversationPage
    ]) {
      const examples = Schema.resolveAnnotations(schema)?.["examples"]
      expect(Array.isArray(examples) ? examples.length : 0).toBeGreaterThan(0)
      for (const example of Array.isArray(examples) ? examples : []) expect(Schema.is(schema)(example)).toBe(true)
    }
  })

  it("exist for every request body", () => {
    const bodies = Object.entries(document.paths).flatMap(([path, { post, put }]) =>
      [post, put].flatMap((operation) => {
        const media = operation?.requestBody?.content["application/json"]
        return media === undefined ? [] : [{ path, media }]
      })
    )
    expect(bodies.length).toBe(12 + Object.keys(ConversationsGroup.bodies).length)
    for (const { media, path } of bodies) {
      expect([path, media]).toEqual([path, expect.objectContaining({ examples: expect.anything() })])
      expect([path, Object.keys("examples" in media ? Object(media.examples) : {}).length]).not.toEqual([path, 0])
      // The AI SDK defines that body.
      if (path === "/v1/chat") continue
      const name = JSON.stringify(media.schema).match(/schemas\/(\w+)"/)?.[1] ?? ""
      expect([path, document.components.schemas[name]]).toEqual([
        path,
        expect.objectContaining({ additionalProperties: false })
      ])
    }
  })

  it("of streams are whole: events in the order of a turn, up to its end, each of which decodes", () => {
    const content = document.paths["/v1/conversations/{conversationId}/turns"]?.post?.responses[200]?.content ?? {}
    const exampleOf = (type: keyof typeof content): string => {
      const media = Object(content[type])
      return String(media.example)
    }
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
    const lines = exampleOf("application/x-ndjson")
      .trimEnd()
      .split("\n")
      .map((line) => decode(line))
    const frames = exampleOf("text/event-stream").trimEnd().split("\n\n")
    expect(frames.map((frame) => decode(frame.slice(frame.indexOf("data: ") + 6)))).toEqual(lines)
    expect(frames.map((frame) => frame.startsWith("id: "))).toEqual(lines.map(TurnEvent.isPersisted))
    expect(lines.map(({ type }) => type).filter((type) => type.startsWith("turn-"))).toEqual(["turn-start", "turn-end"])
    expect(lines.at(-1)).toMatchObject({ type: "turn-end", status: "completed" })
  })
})

it("every event states whether it is persisted", () => {
  const text = JSON.stringify(document.components.schemas["TurnEvent"])
  for (const [members, fate] of [
    [TurnEvent.PersistedEvent.members, "Persisted"],
    [TurnEvent.TransientEvent.members, "Transient"]
  ] as const) {
    for (const { fields } of members)
      expect(text).toContain(`"title":"${fields.type.schema.literal}","description":"${fate}: `)
  }
})

describe("a problem", () => {
  it("is encoded as RFC 9457 requires, and decodes to the same problem", () => {
    const problem = new Problem.ConversationNotFound({ conversationId: "c", detail: "There is no conversation c." })
    const encoded = Schema.encodeSync(Problem.ConversationNotFound)(problem)
    expect(encoded).toEqual({
      type: "/docs#problem-conversation-not-found",
      status: 404,
      title: "There is no such conversation",
      detail: "There is no conversation c.",
      conversationId: "c"
    })
    expect(Schema.decodeUnknownSync(Problem.ConversationNotFound)(encoded)).toEqual(problem)
  })

  it("has the type of its name", () => {
    for (const [name, problem] of Object.entries(Problem.problems)) {
      expect(JSON.stringify(document.components.schemas[problem.identifier])).toContain(`"/docs#problem-${name}"`)
    }
  })
})

describe("POST /v1/dry-run", () => {
  it("is bounded by its schema", () => {
    const decode = Schema.decodeUnknownResult(DryRunGroup.RunDryRun)
    for (const wrong of [
      { replay: {} },
      { replay: { since: "soon" } },
      { outages: [""] },
      { outages: Array.from({ length: 21 }, () => "ok") },
      { outages: ["x".repeat(1_001)] },
      { outages: ["ok"], turns: 1_001 },
      { outages: ["ok"], turns: 0 },
      { outages: ["ok"], hours: 169 },
      { outages: ["ok"], withinMs: -1 }
    ])
      expect([wrong, Result.isFailure(decode(wrong))]).toEqual([wrong, true])
    expect(Result.isSuccess(decode({ outages: ["ok"], turns: 1_000, hours: 168 }))).toBe(true)
    expect(Result.isSuccess(decode({ replay: { since: "2026-02-14T22:00:00Z" } }))).toBe(true)
  })
})
