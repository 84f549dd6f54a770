// O2
#include "prod/config/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "fakes/testing/server_process.h"
#include "prod/config/settings.h"

namespace lockstep::prod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SecretsTest : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) {
        const std::string file = (folder.path() / name).string();
        std::ofstream(file) << text;
        return file;
    }
    static Secrets read(Environment::Values values) { return read_secrets(Environment(std::move(values))); }

    fakes::testing::TemporaryFolder folder;
};

TEST_F(SecretsTest, AreTheContentOfTheFileThatAVariableNames) {
    const std::string file = write("password", "hunter2\n");
    const Secrets secrets = read({{"NATS_PASSWORD_FILE", file}, {"NATS_USERNAME", "scheduler"}});
    EXPECT_THAT(secrets.mistakes, IsEmpty());
    EXPECT_EQ(secrets.environment.get("NATS_PASSWORD"), "hunter2");
    EXPECT_EQ(secrets.files.at("NATS_PASSWORD"), file);
    const auto settings = read_settings(Environment({{"NATS_PASSWORD_FILE", file}, {"NATS_USERNAME", "scheduler"}}));
    ASSERT_TRUE(settings) << settings.error();
    EXPECT_EQ(settings->nats.password, "hunter2");
    for (const std::string& warning : settings->warnings) EXPECT_THAT(warning, testing::Not(HasSubstr("_FILE")));
}

TEST_F(SecretsTest, MayBeWholeAddresses) {
    const auto settings =
        read_settings(Environment({{"REDIS_URL_FILE", write("redis", "redis://me:p%40ss@store:6380/2\r\n")},
                                   {"NATS_URL_FILE", write("nats", "nats://me:other@bus:4222")}}));
    ASSERT_TRUE(settings) << settings.error();
    EXPECT_EQ(settings->redis.password, "p@ss");
    EXPECT_EQ(settings->nats.url, "nats://me:other@bus:4222");
}

TEST_F(SecretsTest, AreTheCredentialsOfAServiceManager) {
    write("NATS_TOKEN", "a-token\n");
    write("NATS_TLS_CA", "PEM");
    const Secrets secrets = read({{"CREDENTIALS_DIRECTORY", folder.path().string()}});
    EXPECT_THAT(secrets.mistakes, IsEmpty());
    EXPECT_EQ(secrets.environment.get("NATS_TOKEN"), "a-token");
    EXPECT_EQ(secrets.environment.get("NATS_TLS_CA"), (folder.path() / "NATS_TLS_CA").string()) << "a path stays one";
}

TEST_F(SecretsTest, StandInOnePlaceOnly) {
    const std::string file = write("token", "hunter2");
    EXPECT_THAT(read({{"NATS_TOKEN", "hunter1"}, {"NATS_TOKEN_FILE", file}}).mistakes,
                ElementsAre("NATS_TOKEN: the environment says it, and so does NATS_TOKEN_FILE; keep one of them"));
    write("NATS_TOKEN", "hunter3");
    write("NATS_CREDS", "PEM");
    const auto mistakes = read({{"NATS_TOKEN_FILE", file},
                                {"NATS_CREDS", "/elsewhere"},
                                {"CREDENTIALS_DIRECTORY", folder.path().string()}})
                              .mistakes;
    EXPECT_THAT(mistakes, ElementsAre(HasSubstr(file + " says it, and so does a credential"),
                                      HasSubstr("NATS_CREDS: the environment says it")));
}

TEST_F(SecretsTest, ThatCannotBeReadAreMistakesWithoutTheirContent) {
    for (const auto& [file, why] :
         {std::pair{std::string("/nowhere/at-all"), "No such file"},
          std::pair{std::string("/dev/zero"), "is larger than"}, std::pair{write("empty", "\n"), "is empty"},
          std::pair{write("two", "hunter2\nhunter3\n"), "more than one line"}}) {
        const auto settings = read_settings(Environment({{"NATS_TOKEN_FILE", file}}));
        ASSERT_FALSE(settings);
        EXPECT_THAT(settings.error(), HasSubstr("NATS_TOKEN: NATS_TOKEN_FILE: "));
        EXPECT_THAT(settings.error(), HasSubstr(file));
        EXPECT_THAT(settings.error(), HasSubstr(why));
        EXPECT_THAT(settings.error(), testing::Not(HasSubstr("hunter")));
    }
}

TEST_F(SecretsTest, GiveWayToACommandLine) {
    Environment::Values values{{"NATS_URL_FILE", "/nowhere/at-all"}};
    overrule(values, "NATS_URL", "nats://elsewhere");
    const auto settings = read_settings(Environment(values), kClientRole);
    ASSERT_TRUE(settings) << settings.error();
    EXPECT_EQ(settings->nats.url, "nats://elsewhere");
}

}  // namespace
}  // namespace lockstep::prod
