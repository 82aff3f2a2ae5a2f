/** A value that is changing, once it has stayed the same for a moment. */
import { useEffect, useState } from "react"

/** Between two keys of a person who types. */
const QUIET_MS = 300

/** The value as it was when it last stayed the same for a moment; at first as it is. */
export const useSettled = <A>(value: A, quietMs: number = QUIET_MS): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs)
    return () => clearTimeout(timer)
  }, [value, quietMs])
  return settled
}
