//! The members of a JSON object that cannot be read as a whole: it is too long, too deep, or broken.

/// A longer member is not one of those that are looked for.
const MAX_MEMBER: usize = 300;

/// What was seen of an object so far.
#[derive(Debug, Default)]
pub(super) struct Members {
    depth: usize,
    is_object: bool,
    is_in_text: bool,
    is_escaped: bool,
    /// The beginning of the current member of the object, without what is nested in it.
    member: Vec<u8>,
    id: Option<String>,
    is_answer: bool,
    has_method: bool,
    /// Lists are refused as a whole: the protocol has no batches any more.
    is_list: bool,
}

impl Members {
    pub(super) fn of(bytes: &[u8]) -> Members {
        let mut members = Members::default();
        members.read(bytes);
        members
    }

    /// Reads on.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.see(*byte);
        }
    }

    /// The JSON of its id, if this asks for an answer: it is neither an answer, nor a notification, nor noise. A request
    /// whose id is not found is one as well.
    pub(super) fn request(mut self) -> Option<Option<String>> {
        self.end_member();
        let is_notification = self.has_method && self.id.is_none() && self.depth == 0;
        ((self.is_object || self.is_list) && !self.is_answer && !is_notification).then_some(self.id)
    }

    fn see(&mut self, byte: u8) {
        let keep = self.depth == 1 && self.is_object;
        if self.is_in_text {
            self.is_in_text = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
        } else {
            match byte {
                b'"' => self.is_in_text = true,
                b'{' | b'[' => return self.enter(byte),
                b'}' | b']' => return self.leave(),
                b',' if self.depth == 1 => return self.end_member(),
                _ => {}
            }
        }
        if keep && self.member.len() < MAX_MEMBER {
            self.member.push(byte);
        }
    }

    fn enter(&mut self, byte: u8) {
        if self.depth == 0 {
            self.is_object = byte == b'{';
            self.is_list = byte == b'[';
        }
        self.depth += 1;
    }

    fn leave(&mut self) {
        if self.depth == 1 {
            self.end_member();
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn end_member(&mut self) {
        let member = std::mem::take(&mut self.member);
        let Ok(member) = std::str::from_utf8(&member) else { return };
        let Some((name, value)) = member.split_once(':') else { return };
        match name.trim() {
            "\"id\"" if member.len() < MAX_MEMBER => self.id = Some(value.trim().to_owned()),
            "\"method\"" => self.has_method = true,
            "\"result\"" | "\"error\"" => self.is_answer = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_request_is_found_whatever_its_other_members_are() {
        let deep = format!(r#"{{"method":"m","params":{},"id":"a,\"b}}"}}"#, "[".repeat(900) + &"]".repeat(900));
        for (line, id) in [
            (r#"{"id":1,"method":"m","params":{"id":2}}"#, "1"),
            (r#"{"method":"m","params":{"id":2,"x":"\"}"},"id" : 7 }"#, "7"),
            (deep.as_str(), r#""a,\"b}""#),
            (r#"{"id":3,"method":"m","params":{"x":"#, "3"),
        ] {
            assert_eq!(Members::of(line.as_bytes()).request(), Some(Some(id.to_owned())), "{line}");
            let mut parts = Members::default();
            line.bytes().for_each(|byte| parts.read(&[byte]));
            assert_eq!(parts.request().flatten().as_deref(), Some(id), "{line}");
        }
        for line in [r#"{"method":"m","params":{"#, "[{\"id\":1}]", "{}", r#"{"x":{"id":1}}"#] {
            assert_eq!(Members::of(line.as_bytes()).request(), Some(None), "{line}");
        }
    }

    #[test]
    fn answers_notifications_and_noise_ask_for_nothing() {
        for line in
            [r#"{"id":1,"result":{}}"#, r#"{"error":{"code":1},"id":1}"#, r#"{"method":"m","x":7}"#, "hello", ""]
        {
            assert_eq!(Members::of(line.as_bytes()).request(), None, "{line}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(10_000));
        assert_eq!(Members::of(long.as_bytes()).request(), Some(None), "no id is that long");
    }
}
