package lockstock.interop;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** Words of the peer's lines. */
final class Text {
    private Text() {}

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    static String decode(String word) {
        return URLDecoder.decode(word, StandardCharsets.UTF_8);
    }

    /** What follows the command, decoded. */
    static String[] arguments(String[] words) {
        String[] arguments = new String[words.length - 3];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = decode(words[i + 3]);
        }
        return arguments;
    }
}
