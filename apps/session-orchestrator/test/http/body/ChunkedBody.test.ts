import { assert, it } from "@effect/vitest"
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { ChunkedBody } from "../../../src/http/body/ChunkedBody.ts"

/** Runs `use` against a server that answers with `answer`. */
const serving = async <A>(
  answer: (body: ChunkedBody, response: ServerResponse) => void,
  use: (port: number) => Promise<A>
): Promise<A> => {
  const server = createServer((_request, response) => {
    response.writeHead(200)
    answer(new ChunkedBody(response), response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    return await use((server.address() as AddressInfo).port)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** The text of an answer, and whether it was complete. */
const read = (port: number): Promise<{ readonly text: string; readonly isWhole: boolean }> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port }, (response: IncomingMessage) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.on("error", () => {})
      response.on("close", () => resolve({ text, isWhole: response.complete }))
    })
    outgoing.on("error", reject)
    outgoing.end()
  })

/** The answer to a client that writes its request itself. */
const raw = (port: number, head: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(head))
    socket.setEncoding("latin1").on("data", (part: string) => (text += part))
    socket.on("close", () => resolve(text.slice(text.indexOf("\r\n\r\n") + 4)))
    socket.on("error", reject)
  })

const TEXTS = ["one\n", "", "zwölf — 十二\n", "é\n", "x".repeat(100_000), Buffer.from("schön, as bytes\n")]

const writeAll = (body: ChunkedBody, done: () => void): void => {
  for (const text of TEXTS) body.write(text)
  body.end("last", done)
}

it("ChunkedBody.C1: a client reads the written text with any characters, and detects that it is complete", async () => {
  const answer = await serving((body) => writeAll(body, () => {}), read)
  assert.deepStrictEqual(answer, { text: `${TEXTS.map(String).join("")}last`, isWhole: true })
})

it("ChunkedBody.C1: a response that is cut is not complete", async () => {
  const answer = await serving((body, response) => void body.write("one\n", () => response.destroy()), read)
  assert.deepStrictEqual(answer, { text: "one\n", isWhole: false })
})

it("ChunkedBody.C5: a head and texts that were written leave before a cut in their tick", async () => {
  for (const texts of [[], ["one\n"], ["one\n", Buffer.from("two\n")]]) {
    const answer = await serving((body) => {
      for (const text of texts) body.write(text)
      body.cut()
      body.cut()
    }, read)
    assert.deepStrictEqual(answer, { text: texts.join(""), isWhole: false })
  }
})

it("ChunkedBody.C1: the connection can be used again afterwards", async () => {
  const twice = "GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
  const answer = await serving(
    (body) => body.end("one", () => {}),
    (port) => raw(port, twice)
  )
  assert.match(answer, /^3\r\none\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n3\r\none\r\n0\r\n\r\n$/)
})

it("an answer waits for the earlier answer of its connection", async () => {
  const bodies: Array<ChunkedBody> = []
  const twice = "GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
  const answer = await serving(
    (body) => {
      bodies.push(body)
      if (bodies.length < 2) return
      body.write("second\n")
      body.end("", () => {})
      bodies[0]?.write("first\n")
      bodies[0]?.end("", () => {})
    },
    (port) => raw(port, twice)
  )
  assert.match(answer, /^6\r\nfirst\n\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n7\r\nsecond\n\r\n0\r\n\r\n$/)
})

it("strings and bytes that are written together keep their order", async () => {
  const answer = await serving((body) => {
    for (const text of ["one ", Buffer.from("two "), "three ", Buffer.from("four ")]) body.write(text)
    body.end("five", () => {})
  }, read)
  assert.deepStrictEqual(answer, { text: "one two three four five", isWhole: true })
})

it("a client that does not read makes a write return false, and `drain` follows when it reads", async () => {
  const drained = Promise.withResolvers<void>()
  const full = Promise.withResolvers<void>()
  const long = "x".repeat(1_000_000)
  await serving(
    (body, response) => {
      while (body.write(long)) assert.isFalse(response.writableNeedDrain)
      assert.isTrue(response.writableNeedDrain)
      response.once("drain", () => {
        drained.resolve()
        body.end("", () => {})
      })
      full.resolve()
    },
    async (port) => {
      const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n"))
      await full.promise
      socket.resume()
      await drained.promise
      socket.destroy()
    }
  )
})

it("ChunkedBody.C4: the head leaves with the first text, and the last text with the end", async () => {
  const isAlone = Promise.withResolvers<void>()
  await serving(
    (body) => {
      body.write("one\n")
      void isAlone.promise.then(() => body.end("two\n"))
    },
    async (port) => {
      const reads: Array<string> = []
      const socket = connect(port, "127.0.0.1", () =>
        socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      )
      await new Promise((resolve) =>
        socket.on("close", resolve).on("data", (read) => {
          reads.push(read.toString())
          isAlone.resolve()
        })
      )
      assert.deepStrictEqual(
        reads.map((read) => read.replace(/^HTTP[^]*\r\n\r\n/, "head ")),
        ["head 4\r\none\n\r\n", "4\r\ntwo\n\r\n0\r\n\r\n"]
      )
    }
  )
})

it("ChunkedBody.C4: a head without a text leaves when it is flushed, once", async () => {
  const answer = await serving((body) => {
    body.flush()
    body.flush()
    body.write("one ")
    body.flush()
    body.end(Buffer.from("bytes"))
    body.flush()
  }, read)
  assert.deepStrictEqual(answer, { text: "one bytes", isWhole: true })
})

it("ChunkedBody.C2: a client of HTTP/1.0 gets the text without lengths", async () => {
  const answer = await serving(
    (body) => writeAll(body, () => {}),
    (port) => raw(port, "GET / HTTP/1.0\r\n\r\n")
  )
  assert.strictEqual(Buffer.from(answer, "latin1").toString(), `${TEXTS.map(String).join("")}last`)
})
