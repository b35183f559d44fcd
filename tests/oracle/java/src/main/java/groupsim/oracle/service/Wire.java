package groupsim.oracle.service;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;

/** One connection to the broker: a request goes out, its answer is read when somebody asks for it. */
final class Wire implements AutoCloseable {
    private final SocketChannel channel;
    private int sent;
    private RequestHeader header;

    Wire(int port) {
        try {
            channel = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    void send(ApiKeys api, AbstractRequest request) {
        header = new RequestHeader(api, request.version(), "service-times", sent++);
        ByteBuffer body = request.serializeWithHeader(header);
        ByteBuffer frame = ByteBuffer.allocate(4 + body.remaining()).putInt(body.remaining()).put(body).flip();
        try {
            while (frame.hasRemaining()) {
                channel.write(frame);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @SuppressWarnings("unchecked")
    <T extends AbstractResponse> T answer() {
        ByteBuffer frame = read(read(ByteBuffer.allocate(4)).getInt());
        return (T) AbstractResponse.parseResponse(frame, header);
    }

    <T extends AbstractResponse> T ask(ApiKeys api, AbstractRequest request) {
        send(api, request);
        return answer();
    }

    private ByteBuffer read(int bytes) {
        return read(ByteBuffer.allocate(bytes));
    }

    private ByteBuffer read(ByteBuffer into) {
        try {
            while (into.hasRemaining()) {
                if (channel.read(into) < 0) {
                    throw new IllegalStateException("the broker has closed a connection");
                }
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return into.flip();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
