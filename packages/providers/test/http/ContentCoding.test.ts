/** Tests the decoding of content codings. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Zlib from "node:zlib"
import * as ContentCoding from "../../src/http/ContentCoding.ts"

/** Decodes a whole body; returns its text, or why it cannot be decoded. */
const decoded = (header: string, body: Buffer): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const coding = ContentCoding.of(header, 200)
    if (typeof coding !== "function") return resume(Effect.succeed(`unknown: ${header}`))
    const pieces: Array<Uint8Array> = []
    const decoding = coding({
      data: (bytes) => pieces.push(bytes),
      end: () => resume(Effect.succeed(String(Buffer.concat(pieces)))),
      broken: ({ failure }) => resume(Effect.succeed(`broken: ${failure.message}`)),
      drained: () => {}
    })
    decoding.write(body)
    decoding.end()
  })

const FAST = { params: { [Zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }

it.effect("rule C11, C13: of zstd a window of 8 MiB is decoded, and none that takes more memory", () =>
  Effect.gen(function* () {
    const { ZSTD_c_contentSizeFlag, ZSTD_c_windowLog } = Zlib.constants
    const zeros = (log: number) =>
      Zlib.zstdCompressSync(Buffer.alloc(9_000_000), {
        params: { [ZSTD_c_contentSizeFlag]: 0, [ZSTD_c_windowLog]: log }
      })
    expect((yield* decoded("zstd", zeros(23))).length).toBe(9_000_000)
    expect(yield* decoded("zstd", zeros(24))).toMatch(/^broken: /u)
  })
)

describe("a coding within a coding", () => {
  it.effect("rule C13: is decoded, however well it is compressed, and a third one is not", () =>
    Effect.gen(function* () {
      const text = "a".repeat(6_000_000)
      expect(yield* decoded("gzip, br", Zlib.brotliCompressSync(Zlib.gzipSync(text, { level: 0 }), FAST))).toBe(text)
      expect(yield* decoded("gzip, gzip, gzip", Buffer.of())).toBe("unknown: gzip, gzip, gzip")
    })
  )

  it.effect(
    "rule C11, C13: that decodes to nothing is not read on behind 4 MiB: few bytes make no work without end",
    () =>
      Effect.gen(function* () {
        const text = "a".repeat(1_000)
        const some = Zlib.gzipSync(text)
        const coded = (length: number) =>
          Zlib.gzipSync(Buffer.concat([some, Buffer.alloc(length - some.length, Zlib.gzipSync(""))]))
        const most = 2 * text.length + 4 * 1024 * 1024
        expect(yield* decoded("gzip, gzip", coded(most))).toBe(text)
        expect(yield* decoded("gzip, gzip", coded(most + 1))).toMatch(/^broken: .* decodes to nothing/u)
      })
  )

  it.effect("rule C11: of a body that is broken no more is decoded", () =>
    Effect.gen(function* () {
      const coding = ContentCoding.of("gzip", 200)
      if (typeof coding !== "function") return expect.unreachable("gzip is known")
      const broken = yield* Effect.callback<ContentCoding.Decoding>((resume) => {
        const decoding = coding({
          data: () => {},
          end: () => {},
          broken: () => resume(Effect.succeed(decoding)),
          drained: () => {}
        })
        decoding.write(Buffer.from("no gzip"))
      })
      expect(broken.write(Buffer.alloc(1_000_000))).toBe(true)
    })
  )
})
