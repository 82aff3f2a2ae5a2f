/** The files of the prompt that a person is writing: chosen, pasted, or dropped anywhere on the page. */
import { type ClipboardEvent, useEffect, useEffectEvent, useState } from "react"
import * as Service from "../service/Service.ts"
import * as Draft from "./Draft.ts"

/** The files of a prompt. */
export type AttachedFiles = ReturnType<typeof useAttached>

/** The files of the one prompt that is on the page. */
export const useAttached = () => {
  const [files, setFiles] = useState<ReadonlyArray<File>>([])
  const [problems, setProblems] = useState<ReadonlyArray<string>>([])
  const [isDropping, setIsDropping] = useState(false)
  const add = (added: Iterable<File>): void => {
    const { fitting, problems } = Draft.admit(files, [...added], Service.limits())
    setFiles([...files, ...fitting])
    setProblems(problems)
  }
  const dropped = useEffectEvent((event: DragEvent) => add(event.dataTransfer?.files ?? []))
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") !== true) return
      // Without this the browser leaves the page and opens the file.
      event.preventDefault()
      setIsDropping(true)
    }
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setIsDropping(false)
    }
    const drop = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") !== true) return
      event.preventDefault()
      setIsDropping(false)
      dropped(event)
    }
    addEventListener("dragover", over)
    addEventListener("dragleave", leave)
    addEventListener("drop", drop)
    return () => {
      removeEventListener("dragover", over)
      removeEventListener("dragleave", leave)
      removeEventListener("drop", drop)
    }
  }, [])
  return {
    files,
    /** Why files were not taken. */
    problems,
    /** A file is held over the page. */
    isDropping,
    add,
    remove: (file: File): void => {
      setFiles(files.filter((each) => each !== file))
      setProblems([])
    },
    clear: (): void => {
      setFiles([])
      setProblems([])
    },
    /** Takes files from the clipboard; text is pasted as ever. */
    paste: (event: ClipboardEvent): void => {
      const pasted = event.clipboardData.files
      if (pasted.length === 0) return
      event.preventDefault()
      add(pasted)
    }
  }
}
