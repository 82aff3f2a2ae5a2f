import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { TemporaryFile } from "@holdfast/journal/testing"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as MediaTypes from "../../src/cli/MediaTypes.ts"
import * as RunInput from "../../src/cli/RunInput.ts"
import * as It from "../It.ts"

const PNG = Buffer.from("iVBORw0KGgo=", "base64")
const limits = { maxFileBytes: 1_000 }

const folderOf = Effect.map(TemporaryFile.temporaryFile, (file) => path.dirname(path.dirname(file)))

const add = (files: ReadonlyArray<string>) =>
  RunInput.addFiles("What is it?", files, limits).pipe(Effect.provide(NodeFileSystem.layer))

describe("--attach", () => {
  It.live("puts the files behind the text, in their order", function* () {
    const folder = yield* folderOf
    const [image, notes] = [path.join(folder, "a.dat"), path.join(folder, "notes.md")]
    fs.writeFileSync(image, PNG)
    fs.writeFileSync(notes, "# Hi")
    assert.deepStrictEqual(yield* add([notes, image, "https://a.example/chart.png?size=2"]), [
      { type: "text", text: "What is it?" },
      { type: "file", mediaType: "text/markdown", data: "IyBIaQ==", name: "notes.md" },
      { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "a.dat" },
      { type: "file", mediaType: "image/png", url: "https://a.example/chart.png?size=2" }
    ])
    assert.strictEqual(yield* add([]), "What is it?")
    fs.writeFileSync(image, Buffer.alloc(limits.maxFileBytes))
    assert.strictEqual((yield* add([image])).length, 2)
  })

  It.live("refuses a file that it cannot send, with its name and the reason", function* () {
    const folder = yield* folderOf
    const [large, empty] = [path.join(folder, "large.png"), path.join(folder, "empty.png")]
    fs.writeFileSync(large, Buffer.alloc(1_001))
    fs.writeFileSync(empty, "")
    const refusal = (file: string) =>
      Effect.map(Effect.flip(add([file])), ({ exitCode, message }) => [exitCode, message])
    for (const [file, why] of [
      [large, "it has 1001 bytes; a file may have 1000 bytes at most (server.maxFileBytes)."],
      [empty, "it is empty."],
      [`${folder}/none.png`, "there is no such file."],
      ["https://a.example/chart", "its name has no ending that gives its type, such as .png or .pdf."]
    ] as const)
      assert.deepStrictEqual(yield* refusal(file), [2, `--attach ${file}: ${why}`])
    assert.match(String((yield* refusal("http://a.example/a.png"))[1]), /expected an https address/)
  })
})

describe("a media type", () => {
  it.each([
    ["a.png", PNG, "image/png"],
    ["no-ending", PNG, "image/png"],
    ["wrong.txt", PNG, "image/png"],
    ["a.JPG", Buffer.from([0xff, 0xd8, 0xff, 0]), "image/jpeg"],
    ["a", Buffer.from("GIF89a"), "image/gif"],
    ["a", Buffer.from("RIFF\n\0\0\0WEBPVP8 "), "image/webp"],
    ["a", Buffer.from("RIFF\n\0\0\0WAVEfmt "), "audio/wav"],
    ["a", Buffer.from("%PDF-1.7"), "application/pdf"],
    ["a.csv", Buffer.from("a;b"), "text/csv"],
    ["Makefile", Buffer.from("all: größer"), "text/plain"],
    ["a.ts", Buffer.from("let a = 1"), "text/plain"],
    ["a.docx", Buffer.from([0, 1]), "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ["a.bin", Buffer.from([0, 2]), "application/octet-stream"],
    ["a.bin", Buffer.from([0xc3, 0x28]), "application/octet-stream"]
  ])("of %s is by its first bytes, its name or its text", (name, bytes, type) => {
    assert.strictEqual(MediaTypes.of(name, bytes), type)
  })

  it("has an ending", () => {
    assert.deepStrictEqual(["audio/mpeg", "image/png"].map(MediaTypes.endingOf), ["mp3", "png"])
  })
})
