/** Tests the limits of reading a tool server's HTTP answers, without a server. */
import { assert, describe, it } from "@effect/vitest"
import * as StreamableHttp from "../../src/transport/StreamableHttp.ts"
import * as Intake from "../../src/transport/Intake.ts"

const text = (chunk: string): Uint8Array => new TextEncoder().encode(chunk)

const stream = (chunks: ReadonlyArray<string>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(text(chunk))
      controller.close()
    }
  })

const STREAM = { "content-type": "text/event-stream; charset=utf-8" }

/** The pieces that are read of a body with these chunks, or the reason why reading ended. */
const read = async (
  chunks: ReadonlyArray<string>,
  most: number,
  headers: Record<string, string> = {},
  intake = new Intake.Intake(() => 0)
): Promise<ReadonlyArray<string> | string> => {
  const { body } = StreamableHttp.bounded(new Response(stream(chunks), { headers }), intake, most)
  const pieces: Array<string> = []
  try {
    for await (const piece of body ?? assert.fail("it has no body")) pieces.push(new TextDecoder().decode(piece))
    return pieces
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A text of this length. */
const x = (count: number): string => "x".repeat(count)

describe("a body", () => {
  it("is read up to its limit, with any chunks, and the limit is given in the largest unit", async () => {
    assert.deepStrictEqual(await read([x(1_000), x(24)], 1_024), [x(1_000), x(24)])
    assert.strictEqual(await read([x(1_000), x(25)], 1_024), "it sent a message of more than 1 KiB")
    assert.strictEqual(await read([x(1_048_576)], 1_048_575), `it sent a message of more than ${1_048_575 / 1_024} KiB`)
    assert.strictEqual(await read([x(1_048_577)], 1_048_576), "it sent a message of more than 1 MiB")
  })

  it("is read up to 64 KiB if it is a batch, wherever that begins", async () => {
    const most = 1_048_576
    const tooLong = "it sent a batch of more than 64 KiB"
    for (const begins of [["["], [" \n", "\t["], ["\r\n  ["]]) {
      const rest = 65_536 - begins.join("").length
      assert.isArray(await read([...begins, x(rest)], most))
      assert.strictEqual(await read([...begins, x(rest + 1)], most), tooLong)
    }
    assert.isArray(await read(["{[", x(65_536)], most))
    assert.isArray(await read(["!", "[", x(65_536)], most))
  })

  it("stays the same response", async () => {
    const intake = new Intake.Intake(() => 0)
    const given = new Response(stream(["a"]), { status: 202, statusText: "Fine", headers: { "x-a": "b" } })
    const { headers, status, statusText } = StreamableHttp.bounded(given, intake)
    assert.deepStrictEqual([status, statusText, headers.get("x-a")], [202, "Fine", "b"])
    const empty = new Response(null, { status: 204 })
    assert.strictEqual(StreamableHttp.bounded(empty, intake), empty)
  })
})

describe("a stream of events", () => {
  it("has its limit from one blank line to the next, with any line ends and chunks", async () => {
    const tooLong = "it sent a message of more than 0.0625 KiB"
    for (const end of ["\n\n", "\r\n\r\n"]) {
      const event = `${x(64 - end.length)}${end}`
      assert.deepStrictEqual(await read([event + event, event], 64, STREAM), [event + event, event])
      assert.strictEqual(await read([`${event}${x(65)}`], 64, STREAM), tooLong)
      assert.deepStrictEqual(await read([`${event}${x(64)}`], 64, STREAM), [`${event}${x(64)}`])
      // The events before the last blank line of a chunk are complete.
      assert.isArray(await read([x(60), `${x(20)}${end}${x(40)}`, x(24)], 64, STREAM))
      assert.strictEqual(await read([x(60), `${x(20)}${end}${x(40)}`, x(25)], 64, STREAM), tooLong)
    }
    assert.strictEqual(await read([x(40), x(25)], 64, STREAM), tooLong)
    assert.strictEqual(await read([`${x(40)}\n${x(24)}`], 64, STREAM), tooLong)
    assert.isArray(await read([`${x(40)}\n${x(23)}`], 64, STREAM))
  })

  it("StreamableHttp.H5: is read in pieces with no more lines than a turn of the event loop may take", async () => {
    const lines = (count: number, end: string) => `a${end}`.repeat(count)
    for (const end of ["\n", "\r"]) {
      const pieces = await read([lines(Intake.WORK_PER_TURN * 2 + 1, end)], 1_048_576, STREAM)
      assert.deepStrictEqual(
        pieces,
        [Intake.WORK_PER_TURN, Intake.WORK_PER_TURN, 1].map((count) => lines(count, end))
      )
    }
    const few = lines(Intake.WORK_PER_TURN - 1, "\n")
    assert.deepStrictEqual(await read([few, few], 1_048_576, STREAM), [few, few])
  })

  it("StreamableHttp.H5: costs 1 per line, and 1 for each KiB", async () => {
    class Counted extends Intake.Intake {
      spent: Array<number> = []
      override unrequested(cost: number): void {
        this.spent.push(cost)
        super.unrequested(cost)
      }
    }
    const intake = new Counted(() => 0)
    await read(["a\nb\n", x(2_048)], 1_048_576, STREAM, intake)
    assert.deepStrictEqual(intake.spent, [3, 3])
  })
})
